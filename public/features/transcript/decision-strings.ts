/** English text of decisions, loaded with the first one. */
import { translator } from '../../strings/t.ts'

export const t = translator('transcript.decision', {
  'said.allowed.you': 'You allowed {object}',
  'said.allowed.by': '{name} allowed {object}',
  'said.allowed': 'Allowed: {object}',
  'said.denied.you': 'You denied {object}',
  'said.denied.by': '{name} denied {object}',
  'said.denied': 'Denied: {object}',
  'said.auto': 'Allowed because auto-approval was turned on: {object}',
  'said.missed.you': 'Waited {time} for your approval, not answered: {object}',
  'said.missed': 'Waited {time} for an approval, not answered: {object}',
  'said.ended': 'Ended before anyone answered: {object}',
  'said.asked': 'Asked: {object}',
  'said.asked.missed': 'no answer in {time}',
  'said.asked.ended': 'ended before anyone answered',
  'said.plan': 'Plan: {object}',
  'said.plan.approved': 'approved',
  'said.plan.kept': 'not approved yet',
  'said.reach.session': 'for this chat',
  'said.reach.workspace': 'always, in this workspace',
  'said.reach.profile': 'always, in this profile',
  'said.reach.always': 'always',
  'said.again': 'Run it now',
  'said.again.hint':
    'Sends a message that asks the agent to run it. It asks for your approval again.',
  'said.again.message': 'I can answer now. Please run this:',
  'said.minutes': '{count} min',
})
