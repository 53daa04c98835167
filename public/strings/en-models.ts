/** The English words about models that the first load needs: the way to set one up. */
export const enModels = {
  'error.key': 'Add key',
  'model.size': '{size} tokens of context',
} as const
