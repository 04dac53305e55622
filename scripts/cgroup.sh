#!/usr/bin/env bash
# cgroup.sh COMMAND…: runs a command with THRONG_CGROUP set to an empty control group that limits memory, and removes the group
# afterwards. The group lies within this process's own one, so limits that hold for that one hold for it, or beside it where version 2
# allows no groups below processes. Users other than root get a scope of their systemd. Exit status 77 where no group can be made.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

mount=/sys/fs/cgroup
own_v1=$(sed -n 's/^[0-9]*:\([^:]*,\)*memory\(,[^:]*\)*://p' /proc/self/cgroup)
own_v2=$(sed -n 's/^0:://p' /proc/self/cgroup)

# make_within FOLDER FILE: a group there that has this file. Its path goes into `group`.
make_within() {
  mkdir "$1/throng-test-$$" 2>/dev/null || return 1
  group=$1/throng-test-$$
  [ -w "$group/$2" ] && [ -w "$group/cgroup.procs" ] && return
  rmdir "$group"
  group=
  return 1
}

make_group() {
  if [ -n "$own_v1" ]; then
    make_within "$mount/memory$own_v1" memory.limit_in_bytes || make_within "$mount/memory" memory.limit_in_bytes
    return
  fi
  local folder=$mount${own_v2%/}
  if [ "${THRONG_CGROUP_IN_SCOPE:-}" = 1 ]; then
    # The scope is ours. Of version 2, only a group without processes has groups whose memory is limited.
    mkdir "$folder/throng-leaf" && echo $$ >"$folder/throng-leaf/cgroup.procs" &&
      echo +memory >"$folder/cgroup.subtree_control"
  fi
  until grep -qsw memory "$folder/cgroup.subtree_control" && make_within "$folder" memory.max; do
    [ "$folder" != "$mount" ] || return 1
    folder=$(dirname "$folder")
  done
}

group=
if ! make_group 2>/dev/null; then
  if [ "${THRONG_CGROUP_IN_SCOPE:-}" != 1 ] && systemd-run --user --scope --quiet true 2>/dev/null; then
    exec systemd-run --user --scope --quiet --property=Delegate=yes env THRONG_CGROUP_IN_SCOPE=1 "$PWD/scripts/cgroup.sh" "$@"
  fi
  echo "a control group with a limit of memory cannot be made here: that takes root and a writable $mount, or systemd-run --user --scope"
  exit 77
fi
# Its processes are killed by the test; the kernel lets go of them a moment later.
trap 'until rmdir "$group" 2>/dev/null || [ ! -d "$group" ]; do [ ! -s "$group/cgroup.procs" ] || kill -KILL $(cat "$group/cgroup.procs") 2>/dev/null || true; done' EXIT
THRONG_CGROUP=$group "$@"
