#!/usr/bin/env bash
# Builds the .deb in build/release, installs it with its dependencies into a clean Debian 12, uses it there as a new user
# does, and removes it: with the commands of docs/install.md.
#
# The root is bootstrapped by mmdebstrap and removed at the end. Commands run in it through bubblewrap, with nothing of the
# build folder or of the source tree in sight. Needs root and the network of the package manager; exit code 77 where
# mmdebstrap is missing.
set -euo pipefail
cd "$(dirname "$0")/.."
if ! command -v mmdebstrap >/dev/null || [[ $(id -u) != 0 ]]; then echo "needs mmdebstrap and root"; exit 77; fi

work=$(mktemp -d /var/tmp/fabricbench-package.XXXXXX)
trap 'rm -rf --one-file-system "$work"' EXIT
root=$work/root
step() { printf '\n== %s\n' "$*"; }
fail() { echo "FAILED: $*" >&2; exit 1; }

# documented MARKER: commands of docs/install.md.
documented() { python3 tools/readme_commands.py docs/install.md "$1"; }

step "the package"
rm -f build/release/*.deb
documented make-package | grep -v '^apt-get ' >"$work/make.sh"
bash -euo pipefail "$work/make.sh" >"$work/make.log" 2>&1 </dev/null || { cat "$work/make.log"; fail "cpack"; }
package=$(echo build/release/*.deb)
dpkg-deb --info "$package" | sed -n 's/^ \(Package\|Version\|Depends\|Installed-Size\)/\1/p'

step "the loader's and the compiler's folders get nothing of ours"
if dpkg-deb --contents "$package" | awk '{print $6}' | grep -E '^\./usr/(lib|lib/x86_64-linux-gnu|include)/[^/]*(cuda|fabricbench)[^/]*$'; then
  fail "these files would be found by other programs"
fi

step "install into a clean Debian 12"
# Recommended packages are for MPI.
documented package >"$work/install.sh"
mmdebstrap --quiet --variant=apt --aptopt='APT::Install-Recommends "false"' \
  --customize-hook="copy-in $package $work/install.sh /root" \
  --customize-hook='chroot "$1" sh -c "cd /root && DEBIAN_FRONTEND=noninteractive bash -euo pipefail install.sh >/dev/null"' \
  bookworm "$root"

# The root as the only file system, as an ordinary user's shell would see it.
confined=(bwrap --bind "$root" / --dev /dev --proc /proc --tmpfs /run --bind "$work/home" /home --chdir /home
  --unshare-net --unshare-pid --die-with-parent --cap-add ALL --clearenv --setenv PATH /usr/bin:/bin --setenv HOME /home)
inside() { "${confined[@]}" "$@"; }
mkdir -p "$work/home/empty"

step "ldconfig does not know the drop-in libraries"
if inside /sbin/ldconfig -p | grep -E "libcuda|fabricbench"; then fail "libcuda is on the loader's path"; fi

step "list, version, manual pages, completion"
inside fabricbench dev version
[[ $(inside fabricbench list --names | wc -l) -ge 24 ]] || fail "list"
inside test -f /usr/share/man/man1/fabricbench-check.1 || inside test -f /usr/share/man/man1/fabricbench-check.1.gz || fail "no manual page"
inside test -f /usr/share/bash-completion/completions/fabricbench || fail "no completion"

step "what README shows, in an empty folder"
shell="${confined[*]} bash"
python3 tools/render_runs.py build/release/bin/fabricbench README.md --check \
  --installed "${shell/--chdir \/home/--chdir \/home\/empty}"

step "check --quick"
reference=/usr/share/fabricbench/problems/comm/p2p/push_copy/reference.cu
inside fabricbench check --quick push_copy "$reference" | tee "$work/check.txt"
grep -q '^PASS' "$work/check.txt" || fail "the reference does not pass"

step "exec, with a look for races"
inside fabricbench exec --ranks 2 --seed 1 --check /usr/share/fabricbench/examples/01_vector_add.cu | tee "$work/exec.txt"
grep -q '^OK' "$work/exec.txt" || fail "exec"

step "run with a recorded model, report --html"
mkdir -p "$work/home/answers/push_copy"
cp "$root$reference" "$work/home/answers/push_copy/1.1.md"
inside fabricbench run push_copy --quick --plain --model recorded:/home/answers --out /home/run
inside fabricbench report /home/run --html /home/site
inside test -s /home/site/index.html || fail "report --html wrote no page"
# Into a file first: behind a pipe, grep -q would end at the first match and the report by SIGPIPE.
inside fabricbench report /home/run --json >"$work/report.json"
grep -q '"samples_passed": 1' "$work/report.json" || fail "the recorded answer did not pass"

step "remove"
documented remove >"$root/root/remove.sh"
chroot "$root" env HOME=/root DEBIAN_FRONTEND=noninteractive bash -euo pipefail /root/remove.sh >/dev/null
left=$(find "$root/usr" "$root/etc" "$root/var/lib/fabricbench" -name '*fabricbench*' -not -path '*/dpkg/*' -not -path '*/doc/*' 2>/dev/null || true)
[[ -z $left ]] || fail "these files are left: $left"

echo
echo "the package installs, works and goes"
