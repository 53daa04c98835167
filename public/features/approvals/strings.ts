/** The English catalogue of the cards that ask; it comes with them. */
import { translator } from '../../strings/t.ts'

export const enAsk = {
  'ask.approval': 'Approval needed',
  'ask.approval.text': 'The agent wants to run this command.',
  'ask.command': 'Command',
  'ask.more': 'Show the whole command',
  'ask.more.change': 'Show the whole change',
  'ask.end': 'Go to the end',
  'ask.less': 'Show less',
  'ask.where': 'in {cwd}',
  'ask.once': 'Allow once',
  'ask.again': 'Allow the same amount again',
  'ask.session': 'Allow for this session',
  'ask.always': 'Always allow',
  'ask.deny': 'Deny',
  'ask.covers':
    '“Allow for this session” covers only this exact command in this folder. “Always allow” first shows what it will cover.',
  'ask.covers.tool': '“Allow for this session” and “Always allow” cover every call of this tool.',
  'ask.covers.once': 'The agent has to ask about this every time.',
  'ask.question': 'Question',
  'ask.answer': 'Your answer',
  'ask.answer.hint': 'Or write your own answer',
  'ask.answer.send': 'Answer',
} as const

export const ta = translator(enAsk)
