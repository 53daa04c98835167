/** Words about command-line sessions, updates and dictation that the first load needs. */
export const enBridge = {
  'row.cli': 'command line',
  'updates.there': 'An update is available',
  'updates.show': 'Show',
  'dictate.start': 'Dictate',
  'dictate.stop': 'Stop dictating',
  'dictate.busy': 'Writing down what was said…',
  'dictate.denied': 'The browser does not allow the microphone.',
  'dictate.nothing': 'Nothing was heard.',
} as const
