/** English text of approval and question cards. */
import { translator } from '../../strings/t.ts'

export const t = translator('approvals', {
  'ask.approval': 'Approval needed',
  'ask.network': 'Allow network access?',
  'ask.approval.text': 'The agent wants to run:',
  'ask.command': 'Command',
  'ask.more': 'Show the full command',
  'ask.more.change': 'Show the full change',
  'ask.end': 'Go to the end',
  'ask.less': 'Show less',
  'ask.where': 'in {cwd}',
  'ask.in.sandbox': 'In the sandbox',
  'ask.in.sandbox_network': 'In the sandbox, with network',
  'ask.in.container': 'In the container',
  'ask.in.container_network': 'In the container, with network',
  'ask.in.outside': 'Outside the sandbox',
  'ask.once': 'Allow once',
  'ask.again': 'Add the same amount again',
  'ask.session': 'Allow for this chat',
  'ask.always': 'Always allow',
  'ask.always.here': 'Always allow here',
  'ask.deny': 'Deny',
  'ask.always.rule': 'Always allow “{rule}” here',
  'ask.covers':
    '“Allow for this chat” covers only this exact command in this folder. “Always allow” first shows what it will cover.',
  'ask.covers.network':
    '“Allow once” covers this command, “Allow for this chat” the commands of this chat, and “Always allow here” those in this workspace.',
  'ask.any.arguments': 'This tool, with any arguments',
  'ask.any.changes': 'These files, with any change',
  'ask.any.requests': 'This server, with any request',
  'ask.shown.arguments':
    '“Allow for this chat” and “Always allow” cover only this tool with exactly these arguments.',
  'ask.shown.changes': '“Allow for this chat” and “Always allow” cover only exactly this change.',
  'ask.shown.requests': '“Allow for this chat” and “Always allow” cover only exactly this request.',
  'ask.every.arguments':
    '“Allow for this chat” and “Always allow” cover every use of {name}, with any arguments.',
  'ask.every.changes': '“Allow for this chat” and “Always allow” cover every change of {name}.',
  'ask.every.requests': '“Allow for this chat” and “Always allow” cover every request of {name}.',
  'ask.owner': 'Only an owner can allow this.',
  'ask.member': 'You can read this, but not answer it.',
  'ask.covers.once': 'The agent has to ask about this every time.',
  'ask.question': 'Question',
  'ask.answer': 'Your answer',
  'ask.answer.hint': 'Or type your own answer',
  'ask.answer.send': 'Answer',

  'rule.label': 'What to allow',
  'rule.shorter': 'Use {rule}',
  'rule.exact': 'Use the exact command',
  'rule.scope': 'Where',
  'rule.scope.session': 'This chat',
  'rule.scope.workspace': 'This workspace',
  'rule.scope.profile': 'This profile',
  'rule.exact.session': 'Runs this exact command without asking, in this folder and this chat.',
  'rule.exact.workspace':
    'Runs this exact command without asking, in this workspace. You can remove the rule in Settings under Permissions.',
  'rule.exact.profile':
    'Runs this exact command without asking, in every folder. You can remove the rule in Settings under Permissions.',
  'rule.first.session': 'Runs commands that begin with “{words}” without asking, in this chat.',
  'rule.first.workspace':
    'Runs commands that begin with “{words}” without asking, in this workspace. You can remove the rule in Settings under Permissions.',
  'rule.first.profile':
    'Runs commands that begin with “{words}” without asking, in every folder. You can remove the rule in Settings under Permissions.',
  'rule.limits':
    'The agent still asks about combined commands, other options, and paths outside the folder.',
  'rule.invalid':
    'Enter the exact command, or its first words followed by “ *”. The shortest rule is “{rule}”.',
  'rule.allow': 'Allow',
  'rule.back': 'Back',
})
