/** Allow rules: an exact command or a prefix of words, for a session, a workspace or a profile. */
import { plainWords } from '../../agent/shell/prefix.ts'
import { invalid } from '../../errors.ts'
import type { Approval, Rule, RuleScope } from '../../schema/question.ts'

const MARK = ' *'

/** The text of a prefix rule, as shown and edited on the page. */
export const ruleText = (words: readonly string[]): string => `${words.join(' ')}${MARK}`

/** Keys that name one tool, one limit, or one destination, not a kind of command. */
const isNonCommandKey = (key: string): boolean => /^(?:mcp|sampling|budget|network): /.test(key)

/** Keys of limits, which are allowed by their key: there are no arguments. */
export const isLimitKey = (key: string): boolean => key.startsWith('budget: ')

const startsWith = (words: readonly string[], first: readonly string[]): boolean =>
  words.length >= first.length && first.every((word, at) => words[at] === word)

/** Parses the rule in an answer to `approval`. Throws UserError when it would allow more than was offered. */
export const readRule = (
  approval: Approval,
  rule: string | undefined,
  scope: RuleScope | undefined,
  /** Not only what was shown: every call of the tool, every change of the files. */
  any = false,
): Rule | undefined => {
  if (any && (!approval.any || rule !== undefined || scope === 'workspace'))
    throw invalid('Only exactly what was shown can be allowed.', { code: 'rule_exact_only' })
  if (any) return { scope: scope ?? 'profile', words: null, any: true }
  if (rule === undefined && scope === undefined) return undefined
  if (approval.any || approval.pattern_keys.some(isNonCommandKey)) {
    if (rule === undefined && scope === 'session') return { scope, words: null }
    throw invalid('A rule can only be given for a command.', { code: 'rule_without_command' })
  }
  const where = scope ?? 'profile'
  const text = rule?.trim() ?? approval.command.trim()
  if (text === approval.command.trim()) return { scope: where, words: null }
  if (approval.suggested_rule === undefined)
    throw invalid('Only this exact command can be allowed. Leave it unchanged.', {
      code: 'rule_exact_only',
    })
  const offered = plainWords(approval.suggested_rule.slice(0, -MARK.length)) ?? []
  const words = text.endsWith(MARK) ? plainWords(text.slice(0, -MARK.length)) : null
  if (words === null)
    throw invalid(`A rule is the exact command, or its first words and “${MARK}”.`, {
      code: 'rule_form',
      values: { mark: MARK },
    })
  if (!startsWith(words, offered))
    throw invalid(`This rule allows too much. The shortest one is “${approval.suggested_rule}”.`, {
      code: 'rule_too_wide',
      values: { rule: approval.suggested_rule },
    })
  // Of a command of several parts, the suggestion names the one that can change something.
  if (!startsWith(plainWords(approval.command) ?? offered, words))
    throw invalid('The rule does not cover the command that is asked about.', {
      code: 'rule_other_command',
    })
  return { scope: where, words }
}
