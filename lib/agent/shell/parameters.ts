/** Parameter expansion: `${name…}` applied to the known values of a variable. */
import type { ParameterExpansionPart, Word } from 'unbash'
import { DATA, hasUnknown } from './syntax.ts'
import type { Scope, Value } from './words.ts'

const MAX_VALUES = 16

const globSource = (glob: string, greedy: boolean): string =>
  glob
    .replace(/[.+^${}()|\\]/g, '\\$&')
    .replace(/\*+/g, greedy ? '[\\s\\S]*' : '[\\s\\S]*?')
    .replace(/\?/g, '[\\s\\S]')
    .replace(/\[!/g, '[^')

const regexOf = (source: string, flags = ''): RegExp | null => {
  try {
    return new RegExp(source, flags)
  } catch {
    // Unclosed bracket: the pattern is literal, the result unknown.
    return null
  }
}

const openOr = (value: string): string => (value === DATA ? DATA : '\0')

const removed = (value: string, operator: string, pattern: string): string => {
  if (hasUnknown(value) || hasUnknown(pattern) || pattern.length > 200) return openOr(value)
  const greedy = operator.length === 2
  if (operator.startsWith('#')) {
    const found = regexOf(`^${globSource(pattern, greedy)}`)
    return found ? value.replace(found, '') : '\0'
  }
  const whole = regexOf(`^(?:${globSource(pattern, true)})$`)
  if (!whole) return '\0'
  const cuts = [...Array(Math.min(value.length, 1_000) + 1).keys()]
  const order = greedy ? cuts : cuts.reverse()
  const cut = order.find(at => whole.test(value.slice(at)))
  return cut === undefined ? value : value.slice(0, cut)
}

const replaced = (value: string, operator: string, pattern: string, next: string): string => {
  if (hasUnknown(value) || hasUnknown(pattern) || pattern.length > 200) return openOr(value)
  const found = regexOf(
    `${operator === '/#' ? '^' : ''}(?:${globSource(pattern, true)})${operator === '/%' ? '$' : ''}`,
    operator === '//' ? 'g' : '',
  )
  return found ? value.replace(found, () => next) : '\0'
}

const sliced = (value: string, offset: string, length: string | undefined): string => {
  const [from, count] = [Number(offset), length === undefined ? undefined : Number(length)]
  if (
    hasUnknown(value) ||
    !Number.isInteger(from) ||
    (count !== undefined && !Number.isInteger(count))
  )
    return openOr(value)
  const start = from < 0 ? value.length + from : from
  if (count === undefined) return value.slice(start)
  return value.slice(start, count < 0 ? value.length + count : start + count)
}

const cased = (value: string, operator: string): string => {
  const change = (text: string) =>
    operator.startsWith('^') ? text.toUpperCase() : text.toLowerCase()
  return operator.length === 2 ? change(value) : change(value.slice(0, 1)) + value.slice(1)
}

const each = (value: Value, change: (text: string) => string): Value =>
  value === null ? null : value.slice(0, MAX_VALUES).map(change)

/** All possible values of `${…}`; null if unknown. */
export const applyOperation = (
  part: ParameterExpansionPart,
  scope: Scope,
  textOf: (word: Word) => string[],
): Value => {
  const { operation, prefix } = part
  if (part.index && !/^[\d@*]+$/.test(part.index.text)) textOf(part.index)
  if (prefix === '#') return [DATA]
  const own = scope.value(part.parameter)
  const value =
    prefix === '!'
      ? own?.length === 1 && /^\w+$/.test(own[0] ?? '')
        ? scope.value(own[0] ?? '')
        : null
      : own
  if (!operation) return value
  const first = (word: Word) => textOf(word)[0] ?? ''
  switch (operation.type) {
    case 'Default': {
      const other = textOf(operation.operand)
      const isEmpty = value?.length === 1 && value[0] === ''
      if (operation.operator.endsWith('+')) return isEmpty ? [''] : [...other, '']
      if (operation.operator.endsWith('?')) return value
      if (isEmpty || value === null) return [...(value === null ? ['\0'] : []), ...other]
      return value
    }
    case 'Remove': {
      const pattern = first(operation.operand)
      return each(value, text => removed(text, operation.operator, pattern))
    }
    case 'Replace': {
      const [pattern, next] = [first(operation.pattern), first(operation.replacement)]
      return each(value, text => replaced(text, operation.operator, pattern, next))
    }
    case 'Slice': {
      const [offset, length] = [operation.offset, operation.length].map(word =>
        word ? first(word).trim() : undefined,
      )
      return each(value, text => sliced(text, offset ?? '0', length))
    }
    case 'CaseModification':
      return each(value, text => cased(text, operation.operator))
    case 'Transform':
      // A prompt: substitutions in the value run, also those written as octal escapes.
      if (operation.operand.text.includes('P')) scope.reportUnclear()
      return null
    default:
      return null
  }
}
