/** The floor under scripts: commands written out in one are held to what nobody may run, as far as they can be read. */
import { assess } from './danger.ts'
import type { Place } from './shell-commands.ts'
import type { Guards } from './types.ts'

/** Texts of Python and JavaScript, those over several lines first. */
const LITERAL =
  /("""|''')([\s\S]*?)\1|"((?:[^"\\\n]|\\.)*)"|'((?:[^'\\\n]|\\.)*)'|`((?:[^`\\]|\\.)*)`/g

/** What stands in front of a text that is run: `os.system(`, `subprocess.run([`, `execSync(`. */
const RUN =
  /(?:^|[^\w])(?:system|popen\w*|run|call|check_call|check_output|getoutput|exec\w*|spawn\w*)\s*\(\s*\[?\s*(?:\w+\s*=\s*)?[frbu]{0,2}$/i

/** Judged by the tool itself, which then says so to the script. */
const TOOL = /(?:^|[^\w.])terminal\s*\(\s*(?:\w+\s*=\s*)?[frbu]{0,2}$/i

/** Of words that are not run they say too little: "reboot when done" is a sentence. */
const ONLY_WHEN_RUN = 'shutting the machine down'
/** Prose and patterns are no commands, however tangled they look to a shell. */
const NOT_JUDGED = /^a command (?:of this length|too tangled)/

const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`

type Found = { words: string[]; isRun: boolean; isTool: boolean }

/** Texts one after the other, between commas, are the words of one command. */
const commandsIn = (code: string): Found[] => {
  const found: Found[] = []
  let end = 0
  for (const match of code.matchAll(LITERAL)) {
    const word = match[2] ?? match[3] ?? match[4] ?? match[5] ?? ''
    const between = code.slice(end, match.index)
    const last = found.at(-1)
    if (last && /^\s*,\s*\[?\s*$/.test(between)) last.words.push(word)
    else {
      const before = between.slice(-100)
      found.push({ words: [word], isRun: RUN.test(before), isTool: TOOL.test(before) })
    }
    end = match.index + match[0].length
  }
  return found
}

/** The texts that may be commands, words of one command put together. */
const textsIn = (code: string): { text: string; isRun: boolean }[] =>
  commandsIn(code)
    .filter(({ isTool }) => !isTool)
    .flatMap(({ words, isRun }) => [
      ...words.map(text => ({ text, isRun: isRun && words.length === 1 })),
      ...(isRun && words.length > 1 ? [{ text: words.map(quoted).join(' '), isRun }] : []),
    ])

/** Why the home forbids the script: scripts at all, or a command it openly runs; null when it does not. */
export const deniedInScript = (code: string, place: Place, guards: Guards): string | null =>
  guards.commands() ??
  textsIn(code)
    .filter(({ isRun }) => isRun)
    .map(({ text }) => guards.command(text, place))
    .find(why => why !== null) ??
  null

/** Why the script must not run; undefined when it holds nothing of the kind openly. */
export const hardlineInScript = (code: string, place: Place): string | undefined =>
  textsIn(code)
    .filter(({ text, isRun }) => isRun || /\s/.test(text.trim()))
    .map(({ text, isRun }) => {
      const { hardline } = assess(text, place)
      if (hardline === undefined || NOT_JUDGED.test(hardline)) return undefined
      return !isRun && hardline === ONLY_WHEN_RUN ? undefined : hardline
    })
    .find(hardline => hardline !== undefined)
