#!/usr/bin/env bash
# formats.sh [COMMIT]: what a data directory of that commit contains, of this checkout without COMMIT: the newest version of each part, from
# the tables of docs/internals/formats.md, and of the database.
# formats.sh --previous: the last commit before the newest change of that. Exit status 77 in a checkout without history as far as there.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

DOCUMENT=docs/internals/formats.md
SCHEMA=crates/store/src/schema/steps.rs

# file COMMIT PATH: as it is in the checkout if COMMIT is empty.
file() { if [ -z "$1" ]; then cat "$2"; else git show "$1:$2"; fi; }

formats() {
  file "$1" $DOCUMENT | awk -F '|' '
    /^## / { format = $0; gsub(/^## |,.*/, "", format) }
    /^\| `[A-Z ][A-Z ][A-Z ][A-Z ]` \| [0-9]+ \|/ {
      tag = $2; gsub(/[` ]/, "", tag)
      newest[format " " tag] = $3 + 0 > newest[format " " tag] ? $3 + 0 : newest[format " " tag]
    }
    END { for (part in newest) print part, newest[part] }' | LC_ALL=C sort
  echo "database $(file "$1" $SCHEMA | grep -cE '^    (Schema)?Step \{')"
}

case ${1:-} in
  --previous)
    here=$(formats '')
    # HEAD itself, before a change is committed; then the parents of the commits that touched the files.
    for before in HEAD $(git log --topo-order --format=%H^ -- $DOCUMENT $SCHEMA 2>/dev/null); do
      before=$(git rev-parse --verify --quiet "$before^{commit}" || true)
      [ -n "$before" ] || break
      if [ "$(formats "$before" 2>/dev/null)" != "$here" ]; then echo "$before" && exit 0; fi
    done
    echo "this checkout has no commit with other formats: git fetch --unshallow" >&2
    exit 77
    ;;
  *) formats "${1:-}" ;;
esac
