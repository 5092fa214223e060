"""Words of the English → French grammar, and French morphology: gender, number, elision, contraction.

One entry a lexeme, "english french", everything else follows by rule or stands in a table of exceptions.
"""

from functools import cache

VOWELS = "aeiouâàéèêëîïôûœ"
ASPIRATED = {"héros", "huit"}  # an h that forbids elision: le héros, not l'héros

# ---- nouns: kind -> entries with the French gender ----
NOUNS = {
    "animate": """man homme m, woman femme f, child enfant m, girl fille f, teacher professeur m, doctor médecin m,
        friend ami m, student étudiant m, king roi m, queen reine f, mother mère f, sister sœur f, lawyer avocat m,
        judge juge m, minister ministre m, writer écrivain m, soldier soldat m, hero héros m, cat chat m,
        dog chien m, horse cheval m, bird oiseau m, wolf loup m, mouse souris f, rabbit lapin m,
        elephant éléphant m""",
    "thing": """book livre m, car voiture f, letter lettre f, table table f, door porte f, key clé f,
        knife couteau m, gift cadeau m, flower fleur f, apple pomme f, box boîte f, clock horloge f,
        newspaper journal m, computer ordinateur m, egg œuf m""",
    "place": """house maison f, garden jardin m, city ville f, street rue f, school école f, church église f,
        forest forêt f, hospital hôpital m, hotel hôtel m, castle château m, library bibliothèque f, harbour port m""",
    "abstract": """agreement accord m, treaty traité m, law loi f, contract contrat m, report rapport m,
        area zone f, party parti m, company entreprise f, government gouvernement m, crisis crise f,
        reform réforme f, tax impôt m, answer réponse f, idea idée f""",
}
ENGLISH_PLURALS = {"man": "men", "woman": "women", "child": "children", "wolf": "wolves", "mouse": "mice"}
ENGLISH_PLURALS |= {"knife": "knives", "hero": "heroes", "crisis": "crises"}

# ---- adjectives: class -> entries, in the order in which English puts the classes before a noun ----
ADJECTIVES = {  # only the first class stands before a French noun; the others follow it, the last one nearest
    "size": """small petit, big grand, beautiful beau, new nouveau, old vieux, good bon, bad mauvais""",
    "animate": """intelligent intelligent, happy heureux, sad triste, brave courageux, famous célèbre, rich riche,
        dangerous dangereux, honest honnête, proud fier""",
    "thing": """red rouge, green vert, blue bleu, white blanc, black noir, strange étrange, dry sec""",
    "place": """dark sombre, famous célèbre, dangerous dangereux, strange étrange""",
    "abstract": """important important, complex complexe, dangerous dangereux, strange étrange""",
    "nation": """french français, italian italien, european européen, english anglais, japanese japonais""",
    "domain": """economic économique, political politique, social social, legal juridique, cultural culturel,
        national national""",
}
FEMININE = {"beau": "belle", "nouveau": "nouvelle", "vieux": "vieille", "bon": "bonne", "blanc": "blanche"}
FEMININE |= {"sec": "sèche"}
BEFORE_VOWEL = {"beau": "bel", "nouveau": "nouvel", "vieux": "vieil"}  # un vieil homme, but de vieux hommes

# ---- verbs: object kind -> "english french_singular [french_plural]"; without the plural: -e, -ent ----
VERBS = {  # to know a person is connaître, to know that … savoir
    "any": """see voit voient, like aime, watch regarde, find trouve, forget oublie, describe décrit décrivent,
        know connaît connaissent, hate déteste, protect protège""",
    "animate": """help aide, meet rencontre, follow suit suivent""",
    "thing": """carry porte, buy achète, sell vend vendent, take prend prennent""",
    "place": """visit visite, leave quitte""",
    "abstract": """sign signe, criticise critique, accept accepte, study étudie""",
    "none": """sleep dort dorment, sing chante, dance danse, work travaille, run court courent, swim nage,
        play joue""",
    "clause": """know sait savent, think pense, say dit disent, understand comprend comprennent""",
    "caused": """threaten menace, change change""",  # what an abstract thing does
    "to": "go va vont, return retourne, belong appartient appartiennent",
    "from": "come vient viennent",
}
PARTICIPLES = """signed signé, written écrit, published publié, adopted adopté, found trouvé, accepted accepté"""

# ---- small words ----
NUMBERS = "two deux, three trois, four quatre, five cinq, eight huit, ten dix"
POSSESSIVES = {  # masculine, feminine, plural; `ma` and its like become `mon` before a vowel
    "my": ("mon", "ma", "mes"),
    "his": ("son", "sa", "ses"),
    "her": ("son", "sa", "ses"),
    "our": ("notre", "notre", "nos"),
    "their": ("leur", "leur", "leurs"),
}
ADVERBS = "often souvent, always toujours, sometimes parfois, rarely rarement"
WHEN = "today aujourd'hui, now maintenant, here ici, there là"
MONTHS = "january janvier, march mars, may mai, august août, october octobre, december décembre"
YEARS = [str(year) for year in range(1989, 1995)]
PLACED = "in dans, behind derrière, under sous, on sur, near près"  # of things; `près` is followed by `de`
ELIDED = {"le": "l'", "la": "l'", "de": "d'", "ne": "n'", "que": "qu'", "ce": "cet"}
ELIDED |= {"ma": "mon", "sa": "son"}
CONTRACTED = {("de", "le"): "du", ("de", "les"): "des", ("à", "le"): "au", ("à", "les"): "aux"}


@cache
def entries(text: str) -> list[tuple[str, ...]]:
    """ "cat chat m, dog chien m" -> [("cat", "chat", "m"), ("dog", "chien", "m")]"""
    return [tuple(entry.split()) for entry in text.split(",")]


def vowel(word: str) -> bool:
    """Does a word before this one elide? l'ami, l'homme, but le héros"""
    return word[0] in VOWELS or (word[0] == "h" and word not in ASPIRATED)


def plural(word: str) -> str:
    """chat -> chats, journal -> journaux, bateau -> bateaux, souris -> souris"""
    if word[-1] in "sxz":
        return word
    if word.endswith("al"):
        return word[:-1] + "ux"
    return word + ("x" if word.endswith("eau") else "s")


def feminine(word: str) -> str:
    """petit -> petite, heureux -> heureuse, italien -> italienne, léger -> légère"""
    if word in FEMININE:
        return FEMININE[word]
    for ending, becomes in (("e", "e"), ("eux", "euse"), ("if", "ive"), ("er", "ère"), ("en", "enne"), ("el", "elle")):
        if word.endswith(ending):
            return word[: -len(ending)] + becomes
    return word + "e"


def agree(adjective: str, gender: str, number: str) -> str:
    """An adjective or participle in the form that a noun of this gender and number asks for."""
    form = feminine(adjective) if gender == "f" else adjective
    return plural(form) if number == "pl" else form


def conjugate(verb: tuple[str, ...], number: str) -> tuple[str, str]:
    """The third person: ("see", "voit", "voient"), "sg" -> ("sees", "voit")"""
    english, singular = verb[:2]
    if number == "pl":
        return english, verb[2] if len(verb) > 2 else singular + "nt"
    return third(english), singular


def third(english: str) -> str:
    """see -> sees, go -> goes, carry -> carries"""
    if english.endswith("y") and english[-2] not in "aeiou":
        return english[:-1] + "ies"
    return english + ("es" if english.endswith(("s", "sh", "ch", "x", "o")) else "s")


def english_plural(noun: str) -> str:
    return ENGLISH_PLURALS.get(noun) or third(noun)  # house -> houses, city -> cities, box -> boxes


def article(following: str) -> str:
    """a or an, by the sound of the word that follows"""
    spoken = following.startswith(("eu", "uni", "use")) or following[0] not in "aeiou"
    return "an" if following == "honest" or not spoken else "a"
