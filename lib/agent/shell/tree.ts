/** Predicates over a shell syntax tree. */
import { type Command, forEachChild, type SyntaxNode } from 'unbash'
import type { Field } from './words.ts'

/** Whether an empty variable is used as a program name or a script: certainly a mistake. */
export const runsEmptyVariable = (tree: Command, heads: Field[][], rest: Field[][]): boolean => {
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

/** A fork bomb: a function that calls itself more than once or in the background. */
export const isForkBomb = (name: string, body: SyntaxNode): boolean => {
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
