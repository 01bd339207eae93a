#!/bin/sh
# clean.sh FOLDER: removes a folder of what was built, but for libraries of ours that this shell would
# preload: without them every rank that it starts would write an error of the loader.
folder=$(cd -- "$1" 2>/dev/null && pwd) || exit 0
kept=
for library in "$folder"/*/libplumbline.so "$folder"/*/librecorder.so; do
    if [ -e "$library" ] && env | grep -qF -- "$library"; then
        kept="$kept $library"
    fi
done
for entry in "$folder"/* "$folder"/.[!.]*; do
    case " $kept" in
    *" $entry/"*) ;;
    *) rm -rf -- "$entry" ;;
    esac
done
if [ -z "$kept" ]; then
    exec rmdir -- "$folder"
fi
for library in $kept; do
    for entry in "${library%/*}"/* "${library%/*}"/.[!.]*; do
        case " $kept " in
        *" $entry "*) ;;
        *) rm -rf -- "$entry" ;;
        esac
    done
done
echo "make clean: kept$kept, for a file that was sourced in this shell has it preloaded;" \
    "a shell without that file removes it too" >&2
