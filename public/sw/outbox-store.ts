/** Where messages wait for the network: written by the page; the service worker deletes those of a person who signs out. */
import { createStore, type UseStore } from 'idb-keyval'

/** `root`: the path of the page's base. */
export const openOutbox = (root: string): UseStore =>
  createStore(`agent-webui ${root} outbox`, 'messages')
