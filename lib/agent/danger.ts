/** Judges a shell command before it runs: what nobody may run, and what a person is asked about. */
import { resolve } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { isInside } from '../store/inside.ts'
import { RULES } from './danger-rules.ts'
import { hardlineOf } from './hardline.ts'
import { commandsIn, type Place, type Simple } from './shell-commands.ts'

export type Assessment = {
  /** Why the command is refused without asking. */
  hardline?: string
  /** Labels of the rules that match, most severe first. */
  labels: string[]
}

/** Longer than any sane command: what cannot be read is not run. */
const MAX_COMMAND_CHARS = 100_000

/** What the shell will see, whatever was hidden in it: no colours, no NUL, no full-width letters. */
export const normalise = (command: string): string =>
  stripVTControlCharacters(command).replaceAll('\0', '').normalize('NFKC')

/** Deterministic and without side effects. `home` and `cwd` make `~` and `..` readable. */
export const assess = (command: string, place: Partial<Place> = {}): Assessment => {
  if (command.length > MAX_COMMAND_CHARS)
    return { hardline: 'a command of this length', labels: [] }
  const where: Place = {
    home: place.home || '/root',
    cwd: place.cwd || '/somewhere/below/the/root',
  }
  const text = normalise(command)
  const commands = commandsIn(text, where)
  if (!commands) return { hardline: 'a command too tangled to be judged', labels: [] }
  const plain = commands.map(toLine).join('\n')
  const labels = RULES.filter(
    rule =>
      rule.text?.test(text) ||
      rule.text?.test(plain) ||
      (rule.command && commands.some(rule.command)),
  ).map(rule => rule.label)
  const hardline = hardlineOf(text, commands, where)
  return { ...(hardline !== undefined && { hardline }), labels: [...new Set(labels)] }
}

const toLine = ({ name, args, redirects }: Simple) =>
  [name, ...args, ...redirects.map(({ op, target }) => `${op} ${target}`)].join(' ')

/** The first place a command names that lies in one of `forbidden` (and in none of `readable`); undefined when it names none openly. */
export const forbiddenIn = (
  command: string,
  place: Place,
  forbidden: readonly string[],
  readable: readonly string[] = [],
): string | undefined => {
  const words = (commandsIn(normalise(command), place) ?? []).flatMap(({ args, redirects, cwd }) =>
    [...args, ...redirects.map(({ target }) => target)].map(word => ({
      cwd,
      // `--file=path` and `@path` name a path, too.
      word: word.replace(/^(?:-[\w-]+=|[\w]+=|@)(?=.)/, '').replace(/^~(?=\/|$)/, place.home),
    })),
  )
  return words
    .filter(({ word }) => word.length < 4_096 && !word.includes('\0'))
    .map(({ word, cwd }) => resolve(cwd, word))
    .find(path => {
      const lies = (root: string) => isInside(root, path)
      return forbidden.some(lies) && !readable.some(lies)
    })
}
