/** Which addresses show the page of the app, so that the stored one may be shown there without a network. */

/** By their first segment. A forwarder has its list and other cells beside this one, which have the same host name. */
const NO_SHELL =
  /^(api|v1|static|share|share-target|artifact|health|cells|forward|favicon\.ico|sw\.js|manifest\.webmanifest)(\/|$)/

/** `path`: below the scope of the service worker. */
export const isShell = (path: string): boolean => !NO_SHELL.test(path)
