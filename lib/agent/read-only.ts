/** Says of a command that it surely only looks: nothing has to be recorded before it runs. In doubt it does more. */
import { normalise } from './danger.ts'
import { commandsIn, type Place, type Simple } from './shell-commands.ts'

/** Whatever their arguments are. */
const LOOKING = new Set(
  'ls cat head tail wc grep egrep fgrep rg pwd echo printf which type whereis stat file du df whoami id uname hostname ps true false test [ cd cut tr nl basename dirname realpath readlink cmp diff md5sum sha1sum sha256sum jq free uptime'.split(
    ' ',
  ),
)
const GIT_LOOKING = new Set(
  'status log show diff blame rev-parse ls-files ls-tree describe shortlog cat-file'.split(' '),
)
/** Verbs of find that do something. */
const FIND_DOING = /^-(?:delete|exec|execdir|ok|okdir|fprint|fprint0|fprintf|fls)$/
/** Options by which a program that looks writes a file or starts another one. */
const WRITING = /^(?:-o.*|--output(?:=.*)?|--pre(?:=.*)?|--ext-diff|--textconv|-C|--compile)$/

const onlyLooks = ({ name, args, redirects }: Simple): boolean => {
  const writes = redirects.some(
    ({ op, target }) => op.includes('>') && !/^(?:\/dev\/null|&?\d+|-)$/.test(target),
  )
  if (writes) return false
  if (name === 'find') return !args.some(arg => FIND_DOING.test(arg))
  if (name === 'sort') return !args.some(arg => WRITING.test(arg))
  if (name === 'git') return GIT_LOOKING.has(args[0] ?? '') && !args.some(arg => WRITING.test(arg))
  // `grep -o` and the like only print.
  return LOOKING.has(name) && !args.some(arg => arg.length > 2 && WRITING.test(arg))
}

/** A variable may change what a program does, a path which program it is. */
const ASSIGNMENT = /(?:^|[\s;&|({])[A-Za-z_]\w*\+?=/

export const isReadOnly = (command: string, place: Place): boolean => {
  const text = normalise(command)
  if (ASSIGNMENT.test(text)) return false
  const commands = commandsIn(text, place)
  if (!commands?.length) return false
  return commands.every(each => onlyLooks(each) && !text.includes(`/${each.name}`))
}
