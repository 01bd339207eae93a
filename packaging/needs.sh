#!/bin/sh
# Looks for what needs.txt names. What is missing is installed by apt, as root or through sudo; else
# one line says what to install, by the manager that is here.
# usage: needs.sh [--say] GROUP...        (--say: nothing is installed)
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
[ "${1:-}" = --say ] && say=1 || say=0
MPICC=${MPICC:-mpicc}
PYTHON=${PYTHON:-python3}

on_path() {
    for name in "$@"; do
        command -v "$name" >/dev/null 2>&1 && return
    done
    return 1
}

# COMPILER LINE
compiles() {
    on_path "$1" && printf '%s\n%s\n%s\n' "$2" 'int main(void)' '{ return 0; }' |
        "$1" -fsyntax-only -x c - >/dev/null 2>&1
}

# A default MPI library is one with an mpirun; one that is named is believed to have its own. Intel's
# wrapper looks for mpi.h under I_MPI_ROOT (cflags.mk).
has_mpi() {
    wrapper=$(command -v "$MPICC") || return 1
    export I_MPI_ROOT="${I_MPI_ROOT:-${wrapper%/*}/..}"
    compiles "$MPICC" '#include <mpi.h>' && { [ "$MPICC" != mpicc ] || on_path mpirun mpiexec; }
}

# PACKAGE...: whether dpkg has them all; where there is no dpkg nobody can tell.
installed() {
    on_path dpkg-query || return 0
    for name in "$@"; do
        dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null | grep -qx installed || return 1
    done
}

# HOW PACKAGES
is_there() {
    set -- "$2" $1
    holders=$1 kind=$2
    shift 2
    case $kind in
    command) on_path "$@" ;;
    header) compiles "${CC:-cc}" "#include <$1>" || compiles gcc "#include <$1>" ;;
    python) for module in "$@"; do "$PYTHON" -c "import $module" 2>/dev/null || return 1; done ;;
    mpi) has_mpi ;;
    package) installed $holders ;;
    esac
}

manager=none
for name in apt-get dnf zypper; do
    on_path $name && { manager=$name; break; }
done

hard='' soft='' packages=''
while IFS='|' read -r group need what how apt dnf zypper; do
    case " $* " in *" ${group:-none} "*) ;; *) continue ;; esac
    is_there "$how" "$apt" && continue
    [ "$need" = needed ] && hard="$hard${hard:+, }$what" || soft="$soft${soft:+, }$what"
    case $manager in
    apt-get) packages="$packages $apt" ;;
    dnf) packages="$packages${dnf:+ $dnf}" ;;
    zypper) packages="$packages${zypper:+ $zypper}" ;;
    esac
done <"$here/needs.txt"

[ -n "$hard$soft" ] || exit 0
case $hard in
*'an MPI library'*)
    if [ "$MPICC" != mpicc ]; then
        echo "no MPI library behind MPICC=$MPICC: it is not there, or finds no mpi.h" >&2
        exit 1
    fi ;;
esac
missing="$hard${hard:+${soft:+, }}$soft"
if [ $manager = apt-get ] && [ $say = 0 ]; then
    become=
    if [ "$(id -u)" = 0 ] || { sudo -n true 2>/dev/null && become=sudo; }; then
        echo "installing$packages"
        { $become apt-get update -q && $become env DEBIAN_FRONTEND=noninteractive \
            apt-get install -y -q --no-install-recommends $packages; } >/dev/null
        exit
    fi
fi
case $manager in
none) remedy='install it by the means of this system' ;;
*) remedy="$manager install$packages" ;;
esac
[ -z "$packages" ] && [ $manager != none ] && remedy='no package of this system is known'
if [ -n "$hard" ]; then
    echo "missing: $missing. Install it first: $remedy" >&2
    exit 1
fi
echo "without $soft ($remedy)" >&2
