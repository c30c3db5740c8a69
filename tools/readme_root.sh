#!/usr/bin/env bash
# A new user's Debian 12 in build/root: the packages of README's line and no others. The checkout lies at its own path, so
# that what is built there goes on outside; an ordinary user; no network, no other file of this computer.
#
# Usage: readme_root.sh make               bootstraps it (needs root and the package manager's network)
#        readme_root.sh run COMMAND…       runs a command in it, in the checkout
#        readme_root.sh commands           runs the commands of README.md and docs/install.md in it
#        readme_root.sh without [PACKAGE…] in a copy without a package of README's line, some step of a user must fail; drawn
#                                          by the number of commits, one a run; `all`: every package
set -euo pipefail
cd "$(dirname "$0")/.."
checkout=$PWD
root=$checkout/build/root
copy=$checkout/build/root_without

packages() { python3 tools/readme_commands.py --packages README.md; }

make_root() {
  rm -rf --one-file-system "$root"
  mkdir -p build
  mmdebstrap --quiet --variant=apt --aptopt='APT::Install-Recommends "false"' \
    --include="$(packages | tr -s ' \n' ',' | sed 's/,$//')" bookworm "$root"
}

# inside ROOT COMMAND…: as user 1000, who owns what is built and may read the rest. Nothing is mounted over /proc: the
# judge's own sandbox could not mount it then.
inside() {
  local root=$1 folder
  shift
  [[ -d $root/usr ]] || { echo "there is no $root: run .ci/run root first" >&2; return 2; }
  mkdir -p "$root$checkout"
  for folder in build/release build/without; do
    mkdir -p "$folder"
    [[ $(stat -c %u "$folder") == 1000 ]] || chown -R 1000:1000 "$folder"
  done
  # shellcheck disable=SC2016  # expanded in there
  unshare --mount --propagation private --pid --ipc --fork --kill-child bash -c 'mount -t proc proc "$0" && exec "$@"' "$root/proc" \
    bwrap --bind "$root" / --dev /dev --tmpfs /run --perms 1777 --tmpfs /tmp --tmpfs /home --perms 0777 --dir /home/user \
    --bind "$checkout" "$checkout" --chdir "$checkout" \
    --unshare-net --die-with-parent --cap-add CAP_SETUID --cap-add CAP_SETGID \
    --clearenv --setenv HOME /home/user --setenv USER user --setenv PATH /usr/bin:/bin --setenv LANG C.UTF-8 --setenv CI true \
    setpriv --reuid 1000 --regid 1000 --clear-groups "$@" </dev/null
}

# Blocks with the marker source, of one page, and those that build on them, without the lines that install packages: the
# root has them, and nothing else.
commands_of() {
  local marker
  for marker in $(python3 tools/readme_commands.py --list "$1" | sed -n 's/.* \(source.*\)/\1/p'); do
    python3 tools/readme_commands.py "$1" "$marker"
  done | awk '!within && /^(sudo )?apt(-get)? / { within = 1 } !within { print } within && !/\\$/ { within = 0 }'
}

run_commands() {
  local page text
  for page in README.md docs/install.md; do
    text=$(commands_of "$page")
    [[ $text == *'cmake --build'* ]] || { echo "$page has no block marked \"ci: source\" that builds" >&2; return 1; }
    inside "$root" bash -euxo pipefail -c "$text"
  done
}

# What a user does with the packages, but for the compiling: the first that fails is printed.
try_steps() {
  local command
  rm -rf build/without
  step() { inside "$copy" "$@" >"$copy.log" 2>&1 || { echo "fails: $*"; tail -3 "$copy.log" | sed 's/^/    /'; return 1; }; }
  step cmake --preset release -B build/without || return 1
  # Headers that the build has read are there.
  # shellcheck disable=SC2016  # expanded in there
  step bash -c 'cd build/release && ninja -t deps | sed -n "s/^    //p" | sort -u | xargs ls -d >/dev/null' || return 1
  while read -r command; do
    step bash -c "$command" || return 1
  done < <(commands_of docs/install.md | grep '^build/release/bin/')
}

# without_one PACKAGE
without_one() {
  local package=$1 gone other
  rm -rf --one-file-system "$copy"
  # dpkg replaces files and never writes into one, but for its logs.
  cp -al "$root" "$copy"
  rm -f "$copy/var/log/dpkg.log" "$copy"/var/log/apt/*
  gone=$(chroot "$copy" apt-get -s purge "$package" | sed -n 's/^Purg \([^ ]*\).*/\1/p')
  for other in $(packages); do
    [[ $other == "$package" ]] || ! grep -qxF "$other" <<<"$gone" ||
      { echo "FAILED: $other brings $package: README's line need not name both"; return 1; }
  done
  DEBIAN_FRONTEND=noninteractive chroot "$copy" apt-get purge -y -qq --autoremove --allow-remove-essential "$package" >"$copy.log" 2>&1 ||
    { cat "$copy.log"; return 1; }
  printf 'without %s, ' "$package"
  if try_steps; then
    echo "all steps work"
    echo "FAILED: README's line names $package, and nothing needs it"
    return 1
  fi
}

without() {
  local listed result=0 count=0
  mapfile -t listed < <(packages | tr -s ' ' '\n' | sort)
  if [[ $# -eq 0 ]]; then
    [[ $(git rev-parse --is-shallow-repository) == true ]] || count=$(git rev-list --first-parent --count HEAD)
    set -- "${listed[count % ${#listed[@]}]}"
  elif [[ $1 == all ]]; then
    set -- "${listed[@]}"
  fi
  [[ -x build/release/bin/fabricbench ]] || { echo "there are no programs in build/release: run .ci/run release first" >&2; return 2; }
  for package in "$@"; do without_one "$package" || result=1; done
  rm -rf --one-file-system "$copy" "$copy.log" build/without
  return "$result"
}

command=${1:-}
shift || true
case $command in
  make) make_root ;;
  run) inside "$root" "$@" ;;
  commands) run_commands ;;
  without) without "$@" ;;
  *) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0" >&2; exit 2 ;;
esac
