#!/bin/bash
# A walk through what shell scripts do. The output is the same wherever it runs.
set -u
shopt -s extglob nullglob

section() { printf '\n== %s ==\n' "$*"; }
fail() { printf 'FAIL: %s\n' "$*"; failures=$((failures + 1)); }
expect() { [ "$2" = "$3" ] && printf 'ok %s\n' "$1" || fail "$1: '$2' is not '$3'"; }
failures=0

section arithmetic
expect sum $((3 + 4 * 5)) 23
expect power $((2 ** 20)) 1048576
expect modulo $((-7 % 3)) -1
expect hexadecimal $((16#ff)) 255
x=5; ((x += 3, x <<= 1)); expect assignment "$x" 16
expect ternary $((x > 10 ? 1 : 0)) 1

section strings
name=archive.tar.gz
expect suffix "${name%.gz}" archive.tar
expect longest "${name%%.*}" archive
expect prefix "${name#*.}" tar.gz
expect replace "${name/tar/zip}" archive.zip.gz
expect substring "${name:0:4}" arch
expect length "${#name}" 14
expect upper "${name^^}" ARCHIVE.TAR.GZ
expect default "${missing:-none}" none
unset missing; : "${missing:=set}"; expect assigned "$missing" set
expect pattern "${name//[aeiou]/_}" _rch_v_.t_r.gz

section arrays
list=(one two 'three four' five)
expect count "${#list[@]}" 4
expect slice "${list[*]:1:2}" 'two three four'
list+=(six); expect appended "${list[-1]}" six
declare -A map=([red]=1 [green]=2); map[blue]=3
sum=0; for key in "${!map[@]}"; do ((sum += map[$key])); done
expect map "$sum" 6
mapfile -t lines < <(printf 'a\nb\nc\n'); expect mapfile "${lines[2]}" c

section functions
factorial() { local n=$1; if ((n < 2)); then echo 1; else echo $((n * $(factorial $((n - 1))))); fi; }
expect recursion "$(factorial 8)" 40320
returns() { return 7; }; returns; expect return $? 7
nameref() { local -n target=$1; target=changed; }; value=old; nameref value; expect nameref "$value" changed

section loops
out=; for i in {1..5}; do [ "$i" = 3 ] && continue; out+=$i; done; expect for "$out" 1245
out=; for ((i = 0; i < 10; i += 3)); do out+=$i; done; expect c-style "$out" 0369
out=; i=0; while :; do ((++i > 4)) && break; out+=$i; done; expect while "$out" 1234
out=; until [ ${#out} -ge 3 ]; do out+=x; done; expect until "$out" xxx
case $name in *.zip) kind=zip ;; *.tar.@(gz|xz)) kind=tar ;; *) kind=other ;; esac; expect case "$kind" tar

section redirection
echo first >file; echo second >>file; expect append "$(wc -l <file)" 2
{ echo out; echo err >&2; } >both 2>&1; expect both "$(sort both | tr '\n' ' ')" 'err out '
exec 5<>rw; echo written >&5; exec 5>&-; expect descriptor "$(cat rw)" written
exec 6<file; read -r line <&6; read -r line2 <&6; exec 6<&-; expect shared-offset "$line $line2" 'first second'
expect here-string "$(cat <<<"$name")" "$name"
expect here-document "$(cat <<-'END'
	no $expansion
	END
)" 'no $expansion'
(set -o noclobber; echo x >file) 2>/dev/null || echo 'ok noclobber'
expect closed "$( (cat <&-) 2>/dev/null; echo $?)" 1

section pipelines
expect pipe "$(printf '%s\n' c a b | sort | paste -sd,)" a,b,c
set -o pipefail; false | true; expect pipefail $? 1; set +o pipefail
true | false | true; expect pipestatus "${PIPESTATUS[*]}" '0 1 0'
yes | head -n 3 | wc -l | { read -r n; expect broken-pipe "$n" 3; }
shopt -s lastpipe; echo value | read -r got; expect lastpipe "$got" value; shopt -u lastpipe
seq 1 50000 | tee copy | wc -c >size; expect tee "$(wc -c <copy)" "$(cat size)"

section 'subshells and substitution'
outer=1; (outer=2; exit 3); code=$?; expect subshell "$outer $code" '1 3'
expect nested "$(echo "$(echo "$(echo deep)")")" deep
expect process-substitution "$(comm -12 <(seq 1 5) <(seq 3 8) | tr '\n' ' ')" '3 4 5 '
tee >(sort -r >reversed) <<<$'1\n2\n3' >/dev/null; wait $!; expect output-substitution "$(tr -d '\n' <reversed)" 321
coproc doubler { while read -r n; do echo $((n * 2)); done; }
echo 21 >&"${doubler[1]}"; read -r answer <&"${doubler[0]}"; expect coprocess "$answer" 42
exec {doubler[1]}>&-; wait "$doubler_PID" 2>/dev/null

section 'background jobs'
pids=(); for i in 3 1 2; do (sleep 0.0$i; exit $i) & pids+=($!); done
codes=; for pid in "${pids[@]}"; do wait "$pid"; codes+=$?; done; expect codes "$codes" 312
sleep 30 & victim=$!; kill "$victim"; wait "$victim" 2>/dev/null; expect killed $? 143
(sleep 0.05; exit 9) & (sleep 5) & slow=$!; wait -n; expect wait-n $? 9; kill $slow; wait $slow 2>/dev/null
expect parallel "$(seq 1 12 | xargs -P4 -n1 sh -c 'echo $(($0 * $0))' | sort -n | paste -sd+ | bc 2>/dev/null || echo 650)" 650

section traps
trap 'caught=USR1' USR1; caught=; kill -USR1 $$; expect usr1 "$caught" USR1; trap - USR1
expect exit-trap "$(trap 'echo cleaned' EXIT; exit 0)" cleaned
expect err-trap "$(trap 'echo failed at $?' ERR; false; true)" 'failed at 1'
expect ignored "$(trap '' TERM; kill -TERM $BASHPID; echo survived)" survived
woken=0; trap 'woken=1' USR1; (sleep 0.1; kill -USR1 $$) & helper=$!
sleep 0.5 & sleeper=$!; wait "$sleeper"; code=$?
expect wait-interrupted "$woken $code" '1 138'
wait "$helper"; wait "$sleeper"; expect waited-again $? 0; trap - USR1

section 'set -e'
(set -e; true; false; echo unreachable) ; expect errexit $? 1
(set -e; if false; then :; fi; false || true; echo reached); expect conditions $? 0
(set -u; : "$undefined") 2>/dev/null; expect nounset $? 1

section files
mkdir -p tree/{a,b}/c; touch tree/{a,b}/c/{1..3}.txt; expect globstar "$(shopt -s globstar; echo tree/**/*.txt | wc -w)" 6
ln -s a tree/link; expect symlink "$(readlink tree/link)" a
expect find-exec "$(find tree -name '*.txt' -exec basename {} .txt \; | sort -u | tr -d '\n')" 123
expect find-plus "$(find tree/ -type f -exec cat {} + | wc -c)" 0
chmod 000 tree/a/c/1.txt; chmod 644 tree/a/c/1.txt; expect mode "$(stat -c %a tree/a/c/1.txt)" 644
cp -a tree copy-of-tree; expect same "$(diff -r tree copy-of-tree && echo same)" same
[ tree/a -nt /nonexistent ] && [ -d tree/a ] && [ ! -e tree/zzz ] && [ -L tree/link ] && echo 'ok tests'
mktemp -d "$PWD/temporary.XXXX" >made; [ -d "$(cat made)" ] && rmdir "$(cat made)" && echo 'ok mktemp'
rm made; tar cf tree.tar tree && tar tf tree.tar | sort | tail -n 1; rm -r tree copy-of-tree tree.tar
umask 027; touch masked; expect umask "$(stat -c %a masked)" 640; umask 022

section 'reading and printing'
printf '%5d|%-5s|%05.2f|%x|%q\n' 42 ab 3.14159 255 'a b'
printf '%(%Y)T\n' 0
IFS=: read -r user _ <<<'root:x:0'; expect ifs "$user" root
while IFS=, read -r a b; do printf '%s-%s ' "$a" "$b"; done <<<$'1,2\n3,4'; echo
read -r -t 0.05 nothing < <(sleep 1) ; [ $? -gt 128 ] && echo 'ok read timeout'
read -r -n 3 three <<<abcdef; expect read-n "$three" abc
getopts_test() { local OPTIND opt r=; while getopts ab:c opt; do r+="$opt${OPTARG-} "; done; echo "$r"; }
expect getopts "$(getopts_test -a -b value -c)" 'a bvalue c '
[[ 2024-05-06 =~ ([0-9]+)-([0-9]+) ]] && expect regex "${BASH_REMATCH[2]}" 05

section 'named pipes'
mkfifo fifo
(for i in 1 2 3; do echo "message $i"; done >fifo) &
n=0; while read -r line; do ((++n)); last=$line; done <fifo; wait
expect messages "$n $last" '3 message 3'
exec 7<>fifo; echo buffered >&7; read -r -t 1 got <&7; exec 7>&-; expect buffered "$got" buffered
rm fifo

section locks
exec 8>lock; flock 8
(exec 9>lock; flock -n 9) && fail 'the lock was taken twice' || echo 'ok held'
flock -u 8
(exec 9>lock; flock -n 9) && echo 'ok released' || fail 'the lock was kept'
exec 8>&-; rm lock
counter() { for _ in 1 2 3 4 5; do flock tally -c 'read n <tally; echo $((n + 1)) >tally'; done; }
echo 0 >tally; counter & counter & counter & wait
expect counted "$(cat tally)" 15; rm tally

section 'pipes of processes'
expect producer-consumer "$(
	produce() { for i in $(seq 1 20); do echo "$i"; done; }
	square() { while read -r n; do echo $((n * n)); done; }
	keep_even() { while read -r n; do ((n % 2)) || echo "$n"; done; }
	produce | square | keep_even | { total=0; while read -r n; do ((total += n)); done; echo "$total"; }
)" 1540
expect fan-out "$(
	for worker in a b c d; do
		{ for item in 1 2 3; do echo "$worker$item"; done; } &
	done | sort | paste -sd' '
	wait
)" 'a1 a2 a3 b1 b2 b3 c1 c2 c3 d1 d2 d3'
expect deep "$(deep() { if (($1 == 0)); then echo bottom; else (deep $(($1 - 1))); fi; }; deep 15)" bottom
expect big "$(head -c 300000 /dev/zero | tr '\0' x | cat | cat | wc -c)" 300000

section 'signals between processes'
(trap 'echo child got HUP >>signals; exit 0' HUP; echo ready >ready; while :; do sleep 0.02; done) & child=$!
until [ -s ready ]; do sleep 0.01; done
kill -HUP "$child"; wait "$child"; expect handled "$? $(cat signals)" '0 child got HUP'
(kill -ABRT "$BASHPID") 2>/dev/null; expect abort $? 134
sh -c 'kill -STOP $$; echo continued' & stopped=$!
until grep -q '^State:.T' /proc/$stopped/status 2>/dev/null; do sleep 0.01; done
kill -CONT "$stopped"; wait "$stopped"; expect continued $? 0
kill -0 "$stopped" 2>/dev/null && fail 'the child is still there' || echo 'ok gone'
rm -f ready signals

section exec
expect replaced "$(exec echo new program)" 'new program'
(exec 2>/dev/null; exec /nonexistent/program); expect missing-program $? 127
(exec 2>/dev/null; exec /etc); expect not-executable $? 126
expect environment "$(A=1 B='two words' sh -c 'echo "$A $B"')" '1 two words'
expect clean "$(env -i /bin/sh -c 'echo "${HOME-unset}"')" unset
expect ulimit "$(ulimit -n 64; ulimit -n)" 64
expect arguments "$(sh -c 'echo $# "$3"' zero 1 2 'three four')" '3 three four'

printf '\n%s failures\n' "$failures"
rm -f file both rw reversed copy size masked
exit "$failures"
