/** English text of the results of slash commands; loaded with the commands. */
import { translator } from '../../strings/t.ts'

export const t = translator('composer', {
  'command.usage.on': 'Token usage on',
  'command.usage.off': 'Token usage off',
  'command.theme': 'Theme: {name}',
  'command.theme.list': 'Themes: {names}',
  'command.personality': 'Personality: {name}',
  'command.personality.none': 'No personality',
  'command.personality.list': 'Personalities: {names}',
  'command.personality.empty': 'No personalities are defined in config.yaml.',
  'command.reasoning': 'Reasoning is {shown}, effort: {effort}',
  'command.reasoning.shown': 'shown',
  'command.reasoning.hidden': 'hidden',
  'command.reasoning.unknown':
    'Unknown effort “{arg}”. Use show, hide, default, none, minimal, low, medium, high or xhigh.',
  'command.model': 'Model: {name}',
  'command.model.none': 'No model matches “{query}”',
  'command.workspace': 'Workspace: {name}',
  'command.workspace.fixed': 'The workspace of a chat stays. Start a new chat for another one.',
  'command.workspace.none': 'No workspace matches “{query}”',
  'command.needs.session': 'Start a chat first',
  'command.clear': 'View emptied. Reload to see the messages again.',
  'command.title.usage': 'Usage: /title <new title>',
  'command.status': '{title}: {messages}, model {model}, {state}',
  'command.status.running': 'running',
  'command.status.idle': 'idle',
  'command.export.format': 'Usage: /export md, json or html',
})
