/** The English words of the way to the other views, and of the commands that lead there. */
export const enViews = {
  'nav.label': 'Views',
  'nav.tasks': 'Tasks',
  'nav.skills': 'Skills',
  'nav.memory': 'Memory',
  'nav.usage': 'Usage',
  'view.back': 'Back to the conversation',
  'view.failed': 'Couldn’t load this view.',
  'command.skills': 'Browse the skills',
  'command.tools': 'Choose the agent’s tools',
  'command.insights': 'Show recent tokens and cost',
  'arg.rollback': '[number]',
  'arg.days': '[7, 30 or 90]',
  'arg.topic': '[topic to keep]',
  'arg.skill': '[request]',
} as const
