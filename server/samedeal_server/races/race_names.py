"""The words of race ids: short, friendly, and easy to say over the phone."""


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


ADJECTIVES = _words("""
    able airy amber apt bold brave brief bright brisk calm clear clever cool cosy crisp dapper deft eager early fair
    fancy fine fleet fond frank free fresh gentle glad golden good grand great happy hardy honest jolly keen kind large
    light lively lucky mellow merry mild neat nimble noble plain proud quick quiet ready royal sharp shiny silver smart
    snug sound spry steady sunny sure swift tidy tall true vivid warm wise witty young zesty
""")
ANIMALS = _words("""
    badger bat bear beaver bee bison boar bream camel cat cod condor crab crane crow deer dingo dog dove duck eagle
    eel egret elk falcon ferret finch fox frog gecko goat goose gull hare hawk heron horse ibex ibis jay kiwi koala lark
    lemur lion lizard llama lynx magpie mole moose moth mouse mule newt otter owl ox panda perch pike pony puffin puma
    quail rabbit raven robin salmon seal shrew skink snail stoat stork swan swift tapir tern thrush tiger toad trout
    turtle viper vole walrus wasp weasel whale wolf wombat wren yak zebra
""")
