# What scripts for sh do: pipelines, redirections, jobs, traps, here-documents, files.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"; echo bye' EXIT
cd "$folder"
umask 027
seq 1 100 | grep 7 | sort -rn | head -n 3
printf 'b\na\n' >list; sort <list >sorted; cat sorted; wc -l <list
cat <<END
a $((6 * 7)) $(echo nested)
END
for i in 1 2 3; do (sleep 0.0$i; echo "$i" >"out$i"; exit "$i") & done
wait
cat out?
(exit 7) & code=0; wait $! || code=$?; echo "code $code"
exec 3>third; echo three >&3; exec 3>&-; read -r line <third; echo "$line"
mkdir -p a/b/c; touch a/b/c/file; ln -s c a/b/link; find a | sort; chmod 600 a/b/c/file; ls -l a/b/c | wc -l
mv a/b/c/file a/moved; cp a/moved a/copied; rm a/moved; test -f a/copied && test ! -e a/moved && echo moved
mkfifo pipe; echo through >pipe & cat pipe; wait
sleep 10 & kill -TERM $!; code=0; wait $! || code=$?; echo "killed $code"
trap 'echo usr1' USR1; kill -USR1 $$; command -v cat >/dev/null && echo found
ulimit -n >/dev/null; date +%Y >/dev/null; echo "$((1 << 20))" | tr 0-9 a-j; printf '%s\n' ./* | wc -l
