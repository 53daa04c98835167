/** The database of messages that wait for the network; of the page, and deleted by the service worker after signing out. */

/** `root`: the path of the page's base. */
export const outboxName = (root: string): string => `agent-webui ${root} outbox`
