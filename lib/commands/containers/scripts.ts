/** Shell scripts that run in containers and around `docker exec`, in POSIX sh without other programs than `sleep`, `rm`, and `env`. */

/** The first process of a container: waits, and collects processes whose parent has ended. Ends at once when it is stopped. */
export const IDLE = "trap 'exit 0' TERM INT; while :; do sleep 3600 & wait $!; done"

/** Marks the processes of one command, and those that they start. */
export const MARK = 'AGENT_COMMAND_ID'

/**
 * `$1`: file that sets the environment, `$2`: directory, `$3`: file for descriptor 3 or blank; then the program. The
 * environment file is removed first: while it exists, nothing has started. The shell stays, so that a program which clears
 * its environment is found by its parent, and it outlives a SIGTERM, so that the program's exit code is reported.
 */
export const ENTER = `. "$1" || exit 125
rm -f "$1"
cd "$2" || exit 125
if [ -n "$3" ]; then exec 3>"$3"; fi
shift 3
case $1 in
/*) [ -x "$1" ] || { program=\${1##*/}; shift; set -- "$program" "$@"; };;
esac
if [ "$1" = bash ] && ! command -v bash >/dev/null 2>&1; then
shift
if [ "$3" = bash ]; then option=$1 script=$2; shift 3; set -- sh "$option" "$script" sh "$@"; else set -- sh "$@"; fi
fi
trap : TERM INT HUP QUIT
"$@"`

/**
 * Sends signal `$1` to the commands with the mark `$2`, or with any mark where it is blank: to every process that has the
 * mark in its environment, and to all of their sessions. Prints how many there are. Signal 0 only counts; KILL is repeated
 * until nothing is left that could have forked in the meantime.
 */
export const SIGNAL = `mark=${MARK}=$2 sessions=' '
statOf() {
  { IFS= read -r line < "/proc/$1/stat"; } 2>/dev/null || return 1
  set -- \${line##*) }
  state=$1 session=$4
}
isMarked() {
  while IFS= read -r part || [ -n "$part" ]; do
    case $part in *"$mark"*) return 0;; esac
    part=
  done 2>/dev/null < "/proc/$1/environ"
  return 1
}
for attempt in 1 2 3 4 5; do
  count=0
  for dir in /proc/[0-9]*; do
    pid=\${dir#/proc/}
    [ "$pid" != $$ ] && isMarked "$pid" && statOf "$pid" || continue
    case $session in 0|1) session=none;; esac
    sessions="$sessions$session $pid: "
  done
  for dir in /proc/[0-9]*; do
    pid=\${dir#/proc/}
    [ "$pid" != $$ ] && [ "$pid" != 1 ] && statOf "$pid" && [ "$state" != Z ] || continue
    case $sessions in
    *" $session "*|*" $pid: "*)
      count=$((count + 1))
      [ "$1" = 0 ] || kill -s "$1" "$pid" 2>/dev/null;;
    esac
  done
  [ "$1" = KILL ] && [ "$count" -gt 0 ] || break
done
echo "$count"`

/** What programs of a container start with: its shell, then the environment. */
export const DESCRIBE = 'command -v bash >/dev/null 2>&1 && echo bash || echo sh; env'

/**
 * Runs on this computer: `$1`: the environment file, `$2`: the file for descriptor 3 or blank; then the command line of the
 * engine. Exit code 125 and a sentence where the command never started.
 */
export const AROUND = `file=$1 report=$2
shift 2
"$@"
code=$?
if [ -e "$file" ]; then
rm -f "$file"
echo 'The container ended before the command started. Run the command again.'
exit 125
fi
if [ -n "$report" ] && [ -e "$report" ]; then
cat "$report" >&3
rm -f "$report"
fi
exit $code`
