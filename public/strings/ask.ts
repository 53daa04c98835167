/** The English catalogue of the cards that ask; it comes with them. */
import { translator } from './t.ts'

export const enAsk = {
  'ask.approval': 'Approval needed',
  'ask.approval.text': 'The agent wants to run this command.',
  'ask.where': 'in {cwd}',
  'ask.once': 'Allow once',
  'ask.again': 'Allow as much again',
  'ask.session': 'Allow for this session',
  'ask.always': 'Always allow',
  'ask.deny': 'Deny',
  'ask.covers':
    'For this session, only this exact command in this folder is allowed. “Always allow” shows first what it covers.',
  'ask.covers.tool': 'For this session or always, every call of this tool is allowed.',
  'ask.covers.once': 'This can only be allowed once.',
  'ask.question': 'Question',
  'ask.answer': 'Your answer',
  'ask.answer.hint': 'Or write your own answer',
  'ask.answer.send': 'Answer',
} as const

export const ta = translator(enAsk)
