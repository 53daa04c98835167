/** Words about command-line sessions, updates and dictation that the first load needs. */
export const enBridge = {
  'row.cli': 'command line',
  'updates.there': 'An update is available',
  'updates.show': 'Show',
  'dictate.start': 'Dictate',
  'dictate.stop': 'Stop dictating',
  'dictate.busy': 'Transcribing…',
  'dictate.denied': 'Your browser blocked the microphone.',
  'dictate.nothing': 'No speech was detected.',
} as const
