/** English text of the page frame: navigation, shortcuts, sign-in and connection. */
export const enApp = {
  'app.skip': 'Skip to message input',
  'app.skip.main': 'Skip to main content',
  'app.sidebar': 'Chats',
  'app.sidebar.hide': 'Hide sidebar',
  'app.sidebar.show': 'Show sidebar',
  'app.sidebar.resize': 'Resize sidebar',
  'app.close': 'Close',
  'app.cancel': 'Cancel',
  'app.loading': 'Loading…',
  'app.search': 'Search',
  'app.nothing': 'No results',

  'nav.tasks': 'Tasks',
  'nav.skills': 'Skills',
  'nav.memory': 'Memory',
  'nav.inbox': 'Inbox',
  'nav.usage': 'Usage',

  'view.failed': 'Couldn’t load this page.',
  'view.reload': 'Reload',

  'toast.region': 'Status messages',
  'toast.dismiss': 'Dismiss',

  'connection.connecting': 'Connecting…',
  'connection.waiting': 'Disconnected. Reconnecting in {count} s…',
  'connection.lost': 'Connection lost',
  'connection.offline': 'You’re offline.',
  'connection.now': 'Reconnect now',
  'connection.polling':
    'Live updates for chats of the command line are off. Refreshing every 30 seconds.',

  'error.server': 'Can’t reach the server',

  'updates.available': 'Update available',
  'updates.show': 'View',

  'palette.label': 'Command palette',

  'keys.panel': 'Show or hide the workspace',
  'keys.title': 'Keyboard shortcuts',
  'keys.sidebar': 'Show or hide the sidebar',
  'keys.find': 'Find in this chat',
  'keys.outline': 'Outline',
  'keys.stop': 'Stop the answer',
  'keys.search': 'Search chats',

  'settings.title': 'Settings',

  'panel.label': 'Workspace',
  'panel.show': 'Show workspace',
  'panel.hide': 'Hide workspace',
  'panel.resize': 'Resize workspace',

  'time.now': 'now',
  'time.minutes': '{count}m',
  'time.hours': '{count}h',
  'time.days': '{count}d',
} as const
