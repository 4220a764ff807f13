#!/usr/bin/env bash
# Starts a project from templates and commits it.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
templates="$here/../assets/templates"

usage() {
    echo "usage: scaffold.sh python|node|c NAME [--author TEXT] [--year YEAR] [--no-git]" >&2
    exit 2
}

fail() {
    echo "error: $1" >&2
    exit "${2:-1}"
}

kind=${1:-}
name=${2:-}
[ -n "$kind" ] && [ -n "$name" ] || usage
shift 2

author="The authors"
year=$(date +%Y)
with_git=yes
while [ $# -gt 0 ]; do
    case $1 in
        --author) author=${2:-}; [ -n "$author" ] || usage; shift 2 ;;
        --year) year=${2:-}; [ -n "$year" ] || usage; shift 2 ;;
        --no-git) with_git=no; shift ;;
        *) usage ;;
    esac
done

[ "$kind" != common ] && [ -d "$templates/$kind" ] || fail "there is no kind '$kind'" 2
[[ $name =~ ^[a-z][a-z0-9]*(-[a-z0-9]+)*$ ]] || fail "'$name' is not a good name" 2
[[ $year =~ ^[0-9]{4}$ ]] || fail "'$year' is not a year" 2
[ ! -e "$name" ] || fail "'$name' exists already"

module=${name//-/_}

# Replaces the placeholders in a text. The author is data: it may hold any character.
fill() {
    local text=$1
    text=${text//@NAME@/"$name"}
    text=${text//@MODULE@/"$module"}
    text=${text//@YEAR@/"$year"}
    text=${text//@AUTHOR@/"$author"}
    printf '%s' "$text"
}

copy_templates() {
    local from=$1 source relative target
    while IFS= read -r -d '' source; do
        relative=${source#"$from"/}
        target="$name/$(fill "$relative")"
        target=${target/dot-/.}
        mkdir -p "$(dirname "$target")"
        fill "$(cat "$source")" > "$target"
        echo >> "$target"
        if [ -x "$source" ]; then chmod +x "$target"; fi
    done < <(find "$from" -type f -print0 | sort -z)
}

copy_templates "$templates/common"
copy_templates "$templates/$kind"

if [ "$with_git" = yes ]; then
    command -v git > /dev/null || fail "git is not there"
    (
        cd "$name"
        # A template folder or hooks of the user have no place in a fresh project.
        git init -q --template= -b main
        git add -A
        git -c user.name="$author" -c user.email="nobody@localhost" -c commit.gpgsign=false \
            commit -q -m "Start $name"
    ) || fail "git failed"
    echo "commit: $(git -C "$name" log --format='%an: %s')"
fi

(cd "$name" && find . -type f -not -path './.git/*' | sed 's|^\./||' | LC_ALL=C sort)
