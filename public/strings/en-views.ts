/** English text of the navigation to the other views. */
export const enViews = {
  'nav.label': 'Views',
  'nav.tasks': 'Tasks',
  'nav.skills': 'Skills',
  'nav.memory': 'Memory',
  'nav.usage': 'Usage',
  'view.back': 'Back to the conversation',
  'view.failed': 'Couldn’t load this view.',
} as const
