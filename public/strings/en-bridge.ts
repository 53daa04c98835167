/** Words about command-line sessions, updates and dictation that the first load needs. */
export const enBridge = {
  'settings.updates': 'Updates',
  'settings.cli': 'Command-line sessions',
  'settings.cli.hint': 'List what was started in a terminal beside the conversations of this page.',
  'settings.insights': 'Count in usage reports',
  'settings.insights.hint':
    'Write tokens and cost of each turn into the agent’s own database as well.',
  'row.cli': 'command line',
  'updates.there': 'An update is available',
  'updates.show': 'Show',
  'dictate.start': 'Dictate',
  'dictate.stop': 'Stop dictating',
  'dictate.busy': 'Writing down what was said…',
  'dictate.denied': 'The browser does not allow the microphone.',
  'dictate.nothing': 'Nothing was heard.',
} as const
