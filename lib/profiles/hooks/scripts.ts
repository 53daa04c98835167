/** The files a hook's command names: programs and scripts, for `doctor` and for the protection of scripts from the agent. */
import { homedir } from 'node:os'
import { isAbsolute, join, resolve } from 'node:path'

type ScriptContext = { cwd: string; env: Readonly<Record<string, string>> }

/** A word of a shell command, with its quotes. */
const WORD = /(?:"[^"]*"|'[^']*'|[^\s"'|&;<>()])+/g
const SCRIPT = /\.(?:sh|bash|zsh|fish|py|pyw|rb|pl|lua|js|mjs|cjs|ts|mts|cts|php|jar)$/i
/** Where the system's programs and devices are: the agent cannot edit them, and naming one means nothing. */
const SYSTEM = /^\/(?:bin|sbin|usr|lib\w*|etc|dev|proc|sys|opt\/homebrew\/bin)(?:\/|$)/

const expand = (word: string, { cwd, env }: ScriptContext): string =>
  word
    .replace(/^~(?=\/|$)/, () => env.HOME || homedir())
    .replace(/\$(?:\{(\w+)\}|(\w+))/g, (whole, braced?: string, plain?: string) => {
      const name = braced ?? plain ?? ''
      if (/^(?:CLAUDE|AGENT)_PROJECT_DIR$/.test(name)) return cwd
      return Object.hasOwn(env, name) ? (env[name] ?? '') : whole
    })

const wordsOf = (command: string): string[] =>
  (command.match(WORD) ?? []).map(word => word.replaceAll(/["']/g, ''))

/** Absolute paths of the files that the command names, without those of the system. */
export const scriptsOf = (command: string, place: ScriptContext): string[] =>
  wordsOf(command).flatMap(word => {
    // A command in quotes (`sh -c '…'`), or a path with spaces.
    const inner = /\s/.test(word) ? scriptsOf(word, place) : []
    const path = expand(word, place)
    if (!path.includes('/') && !SCRIPT.test(path)) return inner
    const whole = isAbsolute(path) ? path : resolve(place.cwd, path)
    const isFile = !SYSTEM.test(whole) && !path.includes('$') && !path.includes('://')
    return isFile ? [whole, ...inner] : inner
  })

/** The program the command starts; null when that takes a shell to know. */
export const programOf = (command: string, place: ScriptContext): string | null => {
  const [word] = wordsOf(command.replace(/^\s*(?:[A-Za-z_]\w*=\S*\s+)*(?:exec\s+)?/, ''))
  if (word === undefined || /[$`*?{}]/.test(expand(word, place))) return null
  const path = expand(word, place)
  return path.includes('/') && !isAbsolute(path) ? join(place.cwd, path) : path
}
