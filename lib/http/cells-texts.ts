/** Texts of the page on which a forwarder lists someone's cells, and says why one cannot be opened. */
import type { Language } from '../base/languages.ts'

export type CellsTexts = {
  title: string
  /** `{person}` */
  signedIn: string
  /** No cell for this person. */
  nothing: string
  /** The proxy names no one. */
  unnamed: string
  starting: string
  full: string
  away: string
}

export const CELLS_TEXTS: Readonly<Record<Language, CellsTexts>> = {
  en: {
    title: 'Your agents',
    signedIn: 'Signed in as {person}',
    nothing: 'There is nothing here for this account. Ask the administrator to add you.',
    unnamed: 'You aren’t signed in. Sign in at your sign-in page, then open this page again.',
    starting: 'Starting… This page opens by itself in a moment.',
    full: 'Everything is in use at the moment. This page tries again by itself.',
    away: 'This can’t be reached at the moment. This page tries again by itself.',
  },
  de: {
    title: 'Deine Agenten',
    signedIn: 'Angemeldet als {person}',
    nothing:
      'Für dieses Konto gibt es hier nichts. Bitte die Person, die den Server verwaltet, dich hinzuzufügen.',
    unnamed:
      'Du bist nicht angemeldet. Melde dich auf eurer Anmeldeseite an und öffne diese Seite dann noch einmal.',
    starting: 'Wird gestartet … Diese Seite öffnet sich gleich von selbst.',
    full: 'Zurzeit ist alles belegt. Diese Seite versucht es von selbst noch einmal.',
    away: 'Zurzeit nicht erreichbar. Diese Seite versucht es von selbst noch einmal.',
  },
  es: {
    title: 'Tus agentes',
    signedIn: 'Sesión iniciada como {person}',
    nothing: 'Aquí no hay nada para esta cuenta. Pide al administrador que te añada.',
    unnamed:
      'No has iniciado sesión. Hazlo en tu página de inicio de sesión y vuelve a abrir esta página.',
    starting: 'Iniciando… Esta página se abrirá sola en un momento.',
    full: 'Ahora mismo todo está ocupado. Esta página lo vuelve a intentar sola.',
    away: 'Ahora mismo no se puede acceder. Esta página lo vuelve a intentar sola.',
  },
  fr: {
    title: 'Vos agents',
    signedIn: 'Connecté en tant que {person}',
    nothing: 'Il n’y a rien ici pour ce compte. Demandez à l’administrateur de vous ajouter.',
    unnamed:
      'Vous n’êtes pas connecté. Connectez-vous sur votre page de connexion, puis rouvrez cette page.',
    starting: 'Démarrage… Cette page s’ouvrira d’elle-même dans un instant.',
    full: 'Tout est occupé pour le moment. Cette page réessaie d’elle-même.',
    away: 'Injoignable pour le moment. Cette page réessaie d’elle-même.',
  },
  'pt-BR': {
    title: 'Seus agentes',
    signedIn: 'Conectado como {person}',
    nothing: 'Não há nada aqui para esta conta. Peça ao administrador para adicionar você.',
    unnamed: 'Você não está conectado. Entre na sua página de login e abra esta página de novo.',
    starting: 'Iniciando… Esta página abrirá sozinha em instantes.',
    full: 'Está tudo ocupado no momento. Esta página tentará de novo sozinha.',
    away: 'Não foi possível acessar no momento. Esta página tentará de novo sozinha.',
  },
  ja: {
    title: 'あなたのエージェント',
    signedIn: '{person} としてサインイン中',
    nothing: 'このアカウントで利用できるものはありません。管理者に追加を依頼してください。',
    unnamed:
      'サインインしていません。サインインページでサインインしてから、このページをもう一度開いてください。',
    starting: '起動しています…まもなくこのページが自動的に開きます。',
    full: '現在すべて使用中です。このページは自動的に再試行します。',
    away: '現在接続できません。このページは自動的に再試行します。',
  },
  'zh-Hans': {
    title: '你的智能体',
    signedIn: '已登录为 {person}',
    nothing: '此账号在这里没有可用的内容。请联系管理员添加你。',
    unnamed: '你尚未登录。请在登录页面登录，然后重新打开此页面。',
    starting: '正在启动… 此页面稍后会自动打开。',
    full: '目前全部被占用。此页面会自动重试。',
    away: '目前无法连接。此页面会自动重试。',
  },
  ko: {
    title: '내 에이전트',
    signedIn: '{person} 계정으로 로그인됨',
    nothing: '이 계정으로 사용할 수 있는 것이 없어요. 관리자에게 추가를 요청하세요.',
    unnamed: '로그인되어 있지 않아요. 로그인 페이지에서 로그인한 다음 이 페이지를 다시 여세요.',
    starting: '시작하는 중… 잠시 후 이 페이지가 자동으로 열려요.',
    full: '지금은 모두 사용 중이에요. 이 페이지가 자동으로 다시 시도해요.',
    away: '지금은 연결할 수 없어요. 이 페이지가 자동으로 다시 시도해요.',
  },
  ru: {
    title: 'Ваши агенты',
    signedIn: 'Вы вошли как {person}',
    nothing: 'Для этой учётной записи здесь ничего нет. Попросите администратора добавить вас.',
    unnamed: 'Вы не вошли. Войдите на своей странице входа и снова откройте эту страницу.',
    starting: 'Запускается… Страница скоро откроется сама.',
    full: 'Сейчас всё занято. Страница повторит попытку сама.',
    away: 'Сейчас нет связи. Страница повторит попытку сама.',
  },
  ar: {
    title: 'وكلاؤك',
    signedIn: 'تم تسجيل الدخول باسم {person}',
    nothing: 'لا يوجد شيء هنا لهذا الحساب. يمكن طلب الإضافة من المسؤول.',
    unnamed: 'لم يتم تسجيل الدخول. يلزم تسجيل الدخول في صفحة الدخول ثم فتح هذه الصفحة مجددًا.',
    starting: 'جارٍ البدء… ستُفتح هذه الصفحة تلقائيًا بعد لحظات.',
    full: 'كل شيء مشغول حاليًا. ستعيد هذه الصفحة المحاولة تلقائيًا.',
    away: 'يتعذّر الوصول حاليًا. ستعيد هذه الصفحة المحاولة تلقائيًا.',
  },
}
