/** What to do when notifications can't be sent to a receiver: sentences by code, for the page and for doctor. */

export const NOTIFICATION_PROBLEMS = {
  unauthorized: 'It rejects the token. Remove it, then add it again with a valid one.',
  subscription:
    'Its push service rejects the keys of this server. Turn notifications off and on again on that device.',
  not_found: 'Nothing is at this address. Remove it, then add it again with the right one.',
  redirected: 'It redirects to another address. Remove it, then add it again with that one.',
  rate_limited: 'It gets too many messages. They’ll be sent later.',
  too_large: 'It doesn’t accept messages of this size.',
  rejected: 'It rejects the message. Check its address and its settings.',
  server_error: 'It has a problem of its own. Sending is tried again.',
  unreachable: 'Check that it’s running and that this server can reach it. Sending is tried again.',
  address_blocked: 'Notifications can’t be sent to this address. Use another one.',
} as const
