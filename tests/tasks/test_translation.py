"""The English → French grammar: correct French, true alignments, disjoint parts."""

import re

import pytest
import sacrebleu
import torch

from attncourse.core.symbols import END, UNKNOWN
from attncourse.tasks import french, translation
from attncourse.zoo import translation as recipe

# Written by hand, not by the grammar.
PAIRS = """
the intelligent italian man hates the houses that a sister watches | l' homme italien intelligent déteste les maisons qu' une sœur regarde
the judges sign our reform that threatens every queen there | les juges signent notre réforme qui menace chaque reine là
the honest italian soldier buys her big english knife | le soldat italien honnête achète son grand couteau anglais
the strange law is important | la loi étrange est importante
the party was not accepted in march 1993 | le parti n' a pas été accepté en mars 1993
all the japanese political answers are complex | toutes les réponses politiques japonaises sont complexes
the answer on the beautiful national areas was adopted | la réponse sur les belles zones nationales a été adoptée
the clock in eight english schools threatens three lawyers | l' horloge dans huit écoles anglaises menace trois avocats
many reports threaten the important french answer because they accept our company | beaucoup de rapports menacent la réponse française importante parce qu' ils acceptent notre entreprise
the new mothers rarely return to eight strange italian libraries | les nouvelles mères retournent rarement à huit bibliothèques italiennes étranges
my japanese horses go to a french garden here but some elephants are always rich | mes chevaux japonais vont à un jardin français ici mais des éléphants sont toujours riches
some beautiful mothers in the harbour of a doctor like the parties of my company | de belles mères dans le port d' un médecin aiment les partis de mon entreprise
the king meets some dogs | le roi rencontre des chiens
the bad cats meet many ministers | les mauvais chats rencontrent beaucoup de ministres
every old child sleeps in the hotel | chaque vieil enfant dort dans l' hôtel
three honest elephants see their ideas | trois éléphants honnêtes voient leurs idées
these complex companies were signed in may 1992 | ces entreprises complexes ont été signées en mai 1992
the new door is black | la nouvelle porte est noire
a teacher of the agreement sees every harbour | un professeur de l' accord voit chaque port
the political report never threatens eight economic treaties here | le rapport politique ne menace jamais huit traités économiques ici
the horses never describe this lawyer when a strange contract changes the party | les chevaux ne décrivent jamais cet avocat quand un contrat étrange change le parti
the old schools are dangerous | les vieilles écoles sont dangereuses
some brave mothers are not happy | des mères courageuses ne sont pas heureuses
their european men do not hate a teacher | leurs hommes européens ne détestent pas de professeur
the good sisters are honest when a man does not protect a child | les bonnes sœurs sont honnêtes quand un homme ne protège pas d' enfant
the company of the elephants was signed | l' entreprise des éléphants a été signée
she criticises the important european crises | elle critique les crises européennes importantes
these new dangerous women belong to a european friend | ces nouvelles femmes dangereuses appartiennent à un ami européen
every hero does not watch his red tables | chaque héros ne regarde pas ses tables rouges
the small doctor sometimes sees the french computer | le petit médecin voit parfois l' ordinateur français
all the sisters return to a dark hotel but three students sometimes watch the blue european eggs | toutes les sœurs retournent à un hôtel sombre mais trois étudiants regardent parfois les œufs européens bleus
every queen returns to the hospital here | chaque reine retourne à l' hôpital ici
he accepts an answer today | il accepte une réponse aujourd'hui
his reform does not threaten any political agreements | sa réforme ne menace pas d' accords politiques
a european horse who comes from the harbour is honest | un cheval européen qui vient du port est honnête
every wolf of the hero always criticises my economic idea of our party | chaque loup du héros critique toujours mon idée économique de notre parti
"""  # noqa: E501


@pytest.fixture(scope="module")
def examples():
    return translation.sample(1200, seed=3, lengths=(3, 25))


def test_generated_french_is_what_a_person_wrote():
    wanted = dict(line.split(" | ") for line in PAIRS.strip().splitlines())
    made = {" ".join(e.english): " ".join(e.french) for e in translation.sample(60, seed=11, lengths=(5, 18))}
    assert len(wanted) >= 30
    assert {english: made.get(english) for english in wanted} == wanted


@pytest.mark.parametrize(
    ("word", "gender", "number", "form"),
    [
        ("beau", "f", "pl", "belles"), ("vieux", "m", "pl", "vieux"), ("social", "m", "pl", "sociaux"),
        ("social", "f", "pl", "sociales"), ("bleu", "m", "pl", "bleus"), ("fier", "f", "sg", "fière"),
        ("italien", "f", "sg", "italienne"), ("sec", "f", "pl", "sèches"), ("blanc", "f", "pl", "blanches"),
        ("heureux", "f", "pl", "heureuses"), ("anglais", "m", "pl", "anglais"), ("culturel", "f", "sg", "culturelle"),
    ],
)  # fmt: skip
def test_agreement(word, gender, number, form):
    assert french.agree(word, gender, number) == form


def test_bahdanaus_sentence_is_a_product_of_the_grammar():
    e = translation.economic_area()
    assert " ".join(e.english) == "the agreement on the european economic area was signed in august 1992"
    assert " ".join(e.french) == "l' accord sur la zone économique européenne a été signé en août 1992"
    swapped = {(e.english[s], e.french[t]) for s, t in e.sure}
    assert {("area", "zone"), ("economic", "économique"), ("european", "européenne")} <= swapped
    assert {("was", "a"), ("was", "été")} <= swapped
    assert "(NP (DT the) (JJ european) (JJ economic) (NN area))" in e.tree


def test_no_word_is_unelided_or_uncontracted(examples):
    text = "\n".join(" ".join(e.french) for e in examples)
    assert not re.search(r"\b(le|la|de|ne|que|ce|ma|sa) [aeiouâéêîœ]", text)
    assert not re.search(r"\b(de|à) les?\b", text)
    assert not re.search(r"(l'|d'|n'|qu') (?=[bcdfgjklmnpqrstvwxz])", text)
    assert " d' un" in text and " qu' il" in text and "l' h" in text and " au " in text


def test_alignment_is_complete_and_true(examples):
    for e in examples:
        assert e.sure <= e.possible
        assert {t for _, t in e.possible} == set(range(len(e.french)))  # every French word comes from somewhere
        assert len({t for _, t in e.sure}) == len(e.sure)  # and from one place, where we are sure
        assert all(0 <= s < len(e.english) for s, _ in e.possible)
        if "not" in e.english:
            s = e.english.index("not")
            assert {"pas"} < {e.french[t] for i, t in e.sure if i == s}  # ne or n', and pas
        for s, t in e.sure:
            if e.english[s] in french.YEARS:
                assert e.french[t] == e.english[s]
    du = [(e, e.french.index("du")) for e in examples if "du" in e.french]
    assert all({e.english[s] for s, t in e.possible if t == at} >= {"the"} for e, at in du) and len(du) > 5


def test_the_tree_spells_the_sentence(examples):
    for e in examples:
        assert e.tree.count("(") == e.tree.count(")") and e.tree.startswith("(S ")
        assert tuple(re.findall(r"\(\S+ ([^()\s]+)\)", e.tree)) == e.english


def test_one_reading_a_sentence_and_enough_words(examples):
    english, fr = translation.vocabularies()
    assert len(fr.characters) >= 400 and len(english.characters) >= 300
    source, lengths, target, target_lengths = translation.tensors(examples, english, fr)
    assert (source != UNKNOWN).all() and (target != UNKNOWN).all()
    assert (target.gather(1, target_lengths[:, None] - 1) == END).all() and lengths.max() <= 26
    meaning = {e.english: e.french for e in examples}
    again = translation.sample(1000, seed=4, lengths=(3, 6)) + translation.sample(1000, seed=5, lengths=(3, 6))
    for e in again:
        assert meaning.setdefault(e.english, e.french) == e.french
    assert fr.decode(target)[0] == " ".join(examples[0].french)


def test_same_seed_same_sentences_and_parts_never_meet():
    assert translation.sample(30, seed=7) == translation.sample(30, seed=7) != translation.sample(30, seed=8)
    train = {e.english for e in translation.sample(1000, seed=0, lengths=(3, 6))}
    test = {e.english for e in translation.sample(300, seed=0, held_out=True, lengths=(3, 6))}
    assert len(train) == 1000 and not train & test
    assert all(3 <= len(words) <= 6 for words in train | test)


def test_alignment_error_rate_by_hand():
    e = translation.Example(("a", "b"), ("x", "y", "z"), frozenset({(0, 0), (1, 1)}),
                            frozenset({(0, 0), (1, 1), (1, 2)}), "")  # fmt: skip
    assert translation.alignment_error_rate([{(0, 0), (1, 1), (1, 2)}], [e]) == 0
    assert translation.alignment_error_rate([{(1, 0), (0, 1), (0, 2)}], [e]) == 1
    # one sure link found, one possible: 1 - (1 + 2) / (3 + 2)
    assert translation.alignment_error_rate([{(0, 0), (0, 1), (1, 2)}], [e]) == pytest.approx(1 - 3 / 5)
    weights = torch.tensor([[0.1, 0.2, 0.7], [0.2, 0.1, 0.0], [0.3, 0.4, 0.3], [1.0, 0.0, 0.0]])  # END on both sides
    assert translation.links(weights, e) == {(1, 0), (0, 1), (1, 2)}
    assert translation.gold(e).tolist() == [[True, False], [False, True], [False, True]]


def test_perfect_links_make_no_error(examples):
    """One link a French word, the sure one where there is one: what an argmax could find at best."""
    best = [{t: s for s, t in sorted(e.possible, key=e.sure.__contains__)} for e in examples]  # the sure ones last
    found = [{(s, t) for t, s in links.items()} for links in best]
    assert translation.alignment_error_rate(found, examples) == 0


def test_bleu_is_sacrebleus_on_words(examples):
    answers = [" ".join(e.french) for e in examples]
    assert recipe.bleu(answers, examples) == pytest.approx(100)
    answers[0] = "le chat"
    wanted = sacrebleu.BLEU(tokenize="none").corpus_score(answers, [[" ".join(e.french) for e in examples]]).score
    assert recipe.bleu(answers, examples) == pytest.approx(wanted) and wanted < 100
