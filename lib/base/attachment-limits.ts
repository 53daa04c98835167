/** What the page and the server know of attachments. */

/** Per message. */
export const MAX_ATTACHMENTS = 20

/** Of one file, as the page says it: 20 MB. A request may have a little more (`MAX_BODY_BYTES`), for the rest of its form. */
export const MAX_UPLOAD_BYTES = 20_000_000
