/**
 * What a part starts besides itself: the command of `sudo`, `env`, `xargs`, `find -exec`, and the text of `bash -c` or `eval`. A
 * guess that finds too much: a rule that forbids a command must hold for it, and no rule that allows one counts it.
 */
import type { CommandPart, Value, Word } from './types.ts'

/** Print their words, or read what they name: a command among their arguments is only text. */
const ONLY_TEXT =
  /^(?:|echo|printf|ls|cat|head|tail|grep|[ef]grep|rg|ag|ack|man|which|type|whereis|apropos|whatis|help|test|\[|git|hg|svn|gh|sed|tr|cut|jq|sort|mkdir|touch|cp|mv|rm|ln|chmod|chown|cd|pushd|read|export|unset|local|declare|trap|alias|make|npm|pnpm|yarn|bun|cargo|go|pip3?)$/

const SHELL = /^(?:(?:ba|z|k|mk|da|a|c|tc|fi)?sh|busybox)$/
/** Their words are the text of a command. */
const EVALUATES = /^(?:eval|watch)$/

/** Every rest of the words that could be a command: after options and their values, whatever these are. */
export const innerWords = ({ name, words, program }: CommandPart): readonly (readonly Word[])[] => {
  if (program === null || ONLY_TEXT.test(name)) return []
  return words.flatMap(({ value }, at) =>
    at < 40 && value !== null && /^[\w./+@-]+$/.test(value) && !/^[-+\d]/.test(value)
      ? [words.slice(at)]
      : [],
  )
}

const joined = (words: readonly Word[]): Value =>
  words.some(({ value }) => value === null) ? null : words.map(({ value }) => value).join(' ')

/** A text that is run as a command, certainly or perhaps; null: known only at run time. */
export type InnerText = { text: Value; isCertain: boolean }

const certain = (text: Value): InnerText => ({ text, isCertain: true })

/** The texts in quotes in code, as in `python3 -c "os.system('git push')"`. */
export const literalsIn = (code: string): string[] =>
  [...code.matchAll(/(["'`])((?:(?!\1)[^\n])+)\1/g)].map(([, , text = '']) => text)

/** A text of several words among the arguments: `npm exec -c "git push"`, `-o ProxyCommand="…"`. */
const SEVERAL_WORDS = /^(?:-{0,2}[\w-]+=)*([\w./-]+ [^\n]+)$/

const perhapsIn = (value: Value): string[] => {
  if (value === null) return []
  const whole = SEVERAL_WORDS.exec(value)?.[1]
  return [...(whole ? [whole] : []), ...literalsIn(value).filter(text => /^[\w./-]+ /.test(text))]
}

/** The texts that it gives to a shell, or may give to one. */
export const innerTexts = ({ name, words, inputs }: CommandPart): readonly InnerText[] => {
  if (SHELL.test(name)) {
    const at = words.findIndex(({ value }) => value !== null && /^-[a-zA-Z]*c$/.test(value))
    const hasFile = words.some(({ value }) => value !== null && !value.startsWith('-'))
    return at >= 0 ? [certain(words[at + 1]?.value ?? null)] : hasFile ? [] : inputs.map(certain)
  }
  const perhaps = [...words.map(({ value }) => value), ...inputs]
    .flatMap(perhapsIn)
    .map(text => ({ text, isCertain: false }))
  if (EVALUATES.test(name)) return [certain(joined(words)), ...perhaps]
  return ONLY_TEXT.test(name) && !/^(?:npm|pnpm|yarn|make|trap|alias)$/.test(name) ? [] : perhaps
}
