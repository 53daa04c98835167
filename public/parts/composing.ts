/**
 * A key belongs to an input method. Safari ends a composition before it reports the Enter that ended it, which then has only the key
 * code of composed keys.
 */
export const isComposing = (event: Pick<KeyboardEvent, 'isComposing' | 'keyCode'>): boolean =>
  event.isComposing || event.keyCode === 229
