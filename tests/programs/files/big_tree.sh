# Programs that touch every file of a tree of 20,000: whatever they say must be what they say natively.
set -eu
export LC_ALL=C GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
here=$PWD
cd "$(mktemp -d)"
mkdir tree
for folder in 0 1 2 3 4 5 6 7 8 9 a b c d e f g h i j; do
	mkdir -p tree/$folder/deep/er
	seq 1 997 | sed "s,^,tree/$folder/deep/," | xargs touch -d @1700000000
	echo "$folder" >tree/$folder/content
	ln tree/$folder/content tree/$folder/linked
	ln -s content tree/$folder/pointer
done
chmod 751 tree/3/deep tree/4/content
find tree -exec touch -h -d @1700000000 {} +
find tree | wc -l

list() { (cd "$1" && find . -printf '%p %y %m %s %n %T@ %l\n' | grep -v ' d ' | sort | md5sum; find . -type d -printf '%p %m\n' | sort | md5sum); }
list tree
cp -a tree copied && list copied
mkdir unpacked && tar -C tree -cf - . | tar -C unpacked -xf - && list unpacked
rsync -aH tree/ synchronised/ && list synchronised
rsync -aHni --delete tree/ synchronised/ | wc -l
find tree -not -type d -print0 | xargs -0 stat -c '%n %F %a %s %h %Y' | sort | md5sum
du -s --inodes tree | cut -f1
diff -r tree copied && echo alike
rm -rf copied unpacked synchronised
ls

git init -q -b main repository
mv tree repository/tree
cd repository
git -c core.fsync=none add tree
git -c user.name=T -c user.email=t@example.invalid commit -qm everything
git ls-files | wc -l
git status --short | wc -l
git fsck --full 2>/dev/null
git gc -q
git fsck --full --strict 2>/dev/null
git rev-parse HEAD^{tree}
cd ..
git clone -q repository clone
find clone/tree | wc -l
mv repository/tree tree
rm -rf repository clone
# Some of it where the host's disk is.
cp -a tree/3 tree/4 "$here"
list "$here" | head -1 | wc -l
diff -r tree/3 "$here/3" && diff -r tree/4 "$here/4" && echo alike
rm -rf "$here/3" "$here/4"

sqlite3 files.db <<'SQL'
pragma journal_mode=wal;
create table files(path text primary key, n integer);
begin;
with recursive n(x) as (select 1 union all select x + 1 from n where x < 20000) insert into files select 'tree/' || (x % 20) || '/' || x, x from n;
commit;
update files set n = n * 2 where n % 3 = 0;
delete from files where n % 7 = 0;
vacuum;
pragma integrity_check;
select count(*), sum(n) from files;
SQL
mv tree moved
find moved | wc -l
rm -rf moved
ls
