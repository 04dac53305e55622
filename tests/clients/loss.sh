#!/usr/bin/env bash
# Five runs of enter.mjs with 10 % random loss each way on the server's UDP ports: server and clients live in a network
# namespace made for this run, so that fixed ports are free and no rule touches the machine. Needs root and iptables.
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

runs=${RUNS:-5}
probability=${LOSS:-0.10}
ports=9000:9003

skip() {
  echo "loss.sh is skipped: $1"
  exit 77
}

[ "$(id -u)" -eq 0 ] || skip "it needs root for a network namespace"
need_package iptables iptables || skip "there is no iptables"
namespace=throng-loss-$$
ip netns add "$namespace" 2> /dev/null || skip "no network namespace can be made here"
trap 'ip netns del "$namespace"' EXIT

inside() { ip netns exec "$namespace" "$@"; }
inside ip link set lo up
for direction in --dport --sport; do
  inside iptables -A INPUT -p udp "$direction" "$ports" \
    -m statistic --mode random --probability "$probability" -j DROP || skip "iptables has no statistic match here"
done

export THRONG_TEST_LOSSY=1
export THRONG_TEST_HTTP=127.0.0.1:9000 THRONG_TEST_UDP=127.0.0.1:${ports%:*}
for run in $(seq "$runs"); do
  echo "== enter with loss $probability each way, run $run of $runs"
  inside node enter.mjs "$@"
done

# Both rules must have dropped something, or the runs above proved nothing.
dropped=$(inside iptables -L INPUT -v -n -x | awk '/DROP/ && $1 > 0 { rules++; packets += $1 } END { print rules + 0, packets + 0 }')
echo "dropped: ${dropped#* } datagrams by ${dropped% *} rules"
[ "${dropped% *}" -eq 2 ]
