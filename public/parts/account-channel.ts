/** Between the tabs of a browser: whose pages they are. */

/** `base`: of the page. Its messages are accounts; an empty one: the person has signed out. */
export const openAccountChannel = (base: string): BroadcastChannel =>
  new BroadcastChannel(`agent-webui:account:${new URL(base).pathname}`)

/** The pages of the person in other tabs close without saving what was written in them. */
export const announceSignOut = (base: string): void => {
  const channel = openAccountChannel(base)
  channel.postMessage('')
  channel.close()
}
