/** The English words about models that the first load needs: the way to set one up. */
export const enModels = {
  'settings.models': 'Models & keys',
  'welcome.connect': 'Connect a model',
  'welcome.skip': 'Stay with the demo',
  'error.key': 'Add key',
  'model.size': '{size} tokens of context',
} as const
