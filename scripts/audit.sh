#!/usr/bin/env bash
# Checks dependencies against the RustSec advisory database, which has to be fetched and is therefore not part of
# `make test`.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

need_cargo
need_deny
"$deny" --locked check advisories
