/** Questions about a piece of a syntax tree. */
import { type Command, forEachChild, type SyntaxNode } from 'unbash'
import type { Field } from './words.ts'

/** A variable that is empty here stands where a program or its text is named: nobody meant that. */
export const isEmptied = (tree: Command, heads: Field[][], rest: Field[][]): boolean => {
  if (tree.name?.parts && heads.some(way => (way[0]?.text ?? '') === '')) return true
  const name = baseName(heads[0]?.[0]?.text ?? '')
  return (
    RUNS_WORDS.test(name) &&
    tree.suffix.some(
      (each, at) =>
        each.type === 'Word' &&
        each.parts !== undefined &&
        /[$`]/.test(each.text) &&
        (rest[at] ?? []).every(({ text }) => text === ''),
    )
  )
}
const RUNS_WORDS =
  /^(?:eval|source|\.|exec|command|builtin|sudo|env|xargs|(?:ba|z|k|da)?sh|python[\d.]*|perl|ruby|node|php)$/

export const baseName = (word: string): string => (word.split('/').at(-1) ?? '').toLowerCase()

export const setsVariables = (tree: SyntaxNode): boolean => {
  let found = false
  const look = (each: SyntaxNode): void => {
    if (found) return
    if (each.type === 'Assignment') found = true
    else forEachChild(each, look)
  }
  look(tree)
  return found
}

/** A function that starts itself more than once, or beside itself. */
export const isBomb = (name: string, body: SyntaxNode): boolean => {
  let calls = 0
  let beside = false
  const look = (each: SyntaxNode): void => {
    if (each.type === 'Command' && each.name?.value === name) calls++
    if ((each.type === 'Statement' && each.background) || each.type === 'Pipeline') {
      const before = calls
      forEachChild(each, look)
      beside ||= calls > before
      return
    }
    forEachChild(each, look)
  }
  look(body)
  return beside && calls > 0
}
