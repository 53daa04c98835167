/** Of the first owner, until they choose another one; the page shows it in its language. */
export const OWNER_NAME = 'Owner'
