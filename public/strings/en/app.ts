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

  'nav.label': 'Views',
  'nav.tasks': 'Tasks',
  'nav.skills': 'Skills',
  'nav.memory': 'Memory',
  'nav.inbox': 'Inbox',
  'nav.usage': 'Usage',

  'view.back': 'Back to chat',
  'view.failed': 'Couldn’t load this page.',

  'toast.region': 'Status messages',
  'toast.dismiss': 'Dismiss',

  'connection.live': 'Connected',
  'connection.connecting': 'Connecting…',
  'connection.waiting': 'Disconnected. Reconnecting in {count}s…',
  'connection.lost': 'Connection lost',
  'connection.now': 'Reconnect now',
  'connection.polling': 'Live updates for CLI sessions are off. Refreshing every 30 seconds.',

  'error.server': 'Can’t reach the server',

  'error.unexpected': 'Something went wrong: {message}',


  'updates.available': 'Update available',
  'updates.show': 'View',

  'palette.label': 'Command palette',

  'keys.panel': 'Show or hide the workspace',
  'keys.title': 'Keyboard shortcuts',
  'keys.general': 'General',
  'keys.chat': 'Chat',
  'keys.list': 'Sidebar',
  'keys.palette': 'Command palette',
  'keys.new': 'New chat',
  'keys.sidebar': 'Show or hide the sidebar',
  'keys.settings': 'Settings',
  'keys.sheet': 'Show shortcuts',
  'keys.focus': 'Focus message input',
  'keys.find': 'Find in this chat',
  'keys.outline': 'Outline',
  'keys.previous': 'Previous request',
  'keys.next': 'Next request',
  'keys.recall': 'Recall earlier messages',
  'keys.stop': 'Stop the current response',
  'keys.commands': 'Commands',
  'keys.mention': 'Mention a file',
  'keys.search': 'Search chats',
  'keys.move': 'Move through the list',
  'keys.rename': 'Rename',
  'keys.delete': 'Delete',

  'theme.dark': 'Dark',
  'theme.light': 'Light',
  'theme.solarized': 'Solarized',
  'theme.monokai': 'Monokai',
  'theme.nord': 'Nord',
  'theme.mist': 'Mist',
  'theme.contrast': 'High contrast',
  'theme.system': 'System',

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
