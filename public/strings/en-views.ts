/** The English words of the way to the other views, and of the commands that lead there. */
export const enViews = {
  'nav.label': 'Views',
  'nav.tasks': 'Tasks',
  'nav.skills': 'Skills',
  'nav.memory': 'Memory',
  'nav.usage': 'Usage',
  'view.back': 'Back to the conversation',
  'view.failed': 'This view could not be loaded.',
  'command.skills': 'Look through the skills',
  'command.tools': 'Choose the agent’s tools',
  'command.insights': 'Tokens and cost of the last days',
  'arg.rollback': '[number]',
  'arg.days': '[7, 30 or 90]',
  'arg.topic': '[topic to keep]',
  'arg.skill': '[request]',
} as const
